/** A field of a CRD's schema. */
export type SchemaField = {
  /** From the root: `spec.products[].id`. */
  path: string;
  type: string;
  isRequired: boolean;
  /** As YAML would show it on one line; empty: none. */
  fallback: string;
  /** Enum, range, length or pattern; empty: everything of the type. */
  allowed: string;
  isImmutable: boolean;
  description: string;
};

/** A rule that the API server checks beside the schema. `path`: the field that the refusal names. */
export type SchemaRule = { path: string; message: string };

export type Schema = { readonly [key: string]: unknown };

/** The bound of every integer field; it says nothing about the field. */
const INT32_MAX = 2_147_483_647;

/** Every field below `path`, parents first, in the order of the schema. */
export function schemaFields(schema: Schema, path: string): SchemaField[] {
  const required = listIn(schema, "required");
  const immutable = immutableFields(schema);
  return Object.entries(partIn(schema, "properties") ?? {}).flatMap(([name, value]) => {
    const part = isSchema(value) ? value : {};
    const here = `${path}.${name}`;
    const field: SchemaField = {
      path: here,
      type: typeText(part),
      isRequired: required.includes(name),
      fallback: defaultText(part),
      allowed: allowedText(part),
      isImmutable: immutable.includes(name),
      description: textIn(part, "description"),
    };
    return [field, ...inside(part, here)];
  });
}

/** Every rule at and below `path`. */
export function schemaRules(schema: Schema, path: string): SchemaRule[] {
  const own = validations(schema).map((rule) => ({
    path: `${path}${textIn(rule, "fieldPath")}`,
    message: textIn(rule, "message"),
  }));
  const { part, suffix } = elements(schema);
  const below = Object.entries(partIn(schema, "properties") ?? {}).flatMap(([name, value]) =>
    isSchema(value) ? schemaRules(value, `${path}.${name}`) : [],
  );
  return [...own, ...below, ...(part === undefined ? [] : schemaRules(part, path + suffix))];
}

function inside(schema: Schema, path: string): SchemaField[] {
  const { part, suffix } = elements(schema);
  return part === undefined ? schemaFields(schema, path) : inside(part, path + suffix);
}

/** What a list or map holds. */
function elements(schema: Schema): { part?: Schema; suffix: string } {
  const items = partIn(schema, "items");
  if (items !== undefined) return { part: items, suffix: "[]" };
  const values = partIn(schema, "additionalProperties");
  return values === undefined ? { suffix: "" } : { part: values, suffix: ".*" };
}

/** A rule that compares a field with its old value makes the field immutable. */
function immutableFields(schema: Schema): string[] {
  return validations(schema)
    .filter((rule) => textIn(rule, "rule").includes("oldSelf"))
    .map((rule) => textIn(rule, "fieldPath").slice(1));
}

function typeText(schema: Schema): string {
  const { part, suffix } = elements(schema);
  if (part !== undefined) return suffix === "[]" ? `list of ${typeText(part)}` : `map of ${typeText(part)}`;
  return textIn(schema, "format") === "date-time" ? "time" : textIn(schema, "type");
}

/** Objects get their defaults from their fields. */
function defaultText({ default: value }: Schema): string {
  return value === undefined || typeof value === "object" ? "" : String(value);
}

function allowedText(schema: Schema): string {
  const { part } = elements(schema);
  const count = rangeText(schema.minItems ?? schema.minProperties, schema.maxItems ?? schema.maxProperties, " entries");
  if (part !== undefined) return [count, isSchema(part.properties) ? "" : allowedText(part)].filter(Boolean).join("; ");
  const values = listIn(schema, "enum").map((value) => `\`${value}\``);
  if (values.length > 0) return values.join(", ");
  const above = schema.exclusiveMinimum === true ? `above ${String(schema.minimum)}` : "";
  const range = leastByRule(schema) || above || rangeText(schema.minimum, schema.maximum, "");
  const length = rangeText(schema.minLength, schema.maxLength, " characters");
  const pattern = textIn(schema, "pattern");
  return [range, length, pattern === "" ? "" : `\`${pattern}\``].filter(Boolean).join("; ");
}

/** The least number that a rule of the field allows, which can be closer than the minimum of the schema. */
function leastByRule(schema: Schema): string {
  const messages = validations(schema).map((rule) => /^must be (\S+ or more)$/.exec(textIn(rule, "message"))?.[1]);
  return messages.find((least) => least !== undefined) ?? "";
}

function rangeText(low: unknown, most: unknown, unit: string): string {
  const high = most === INT32_MAX ? undefined : most;
  if (low === undefined && high === undefined) return "";
  if (high === undefined) return `${String(low)}${low === 1 ? unit.replace(/s$/, "") : unit} or more`;
  return low === undefined ? `at most ${String(high)}${unit}` : `${String(low)} to ${String(high)}${unit}`;
}

function validations(schema: Schema): Schema[] {
  const rules = schema["x-kubernetes-validations"];
  return Array.isArray(rules) ? rules.filter(isSchema) : [];
}

function partIn(schema: Schema, key: string): Schema | undefined {
  const part = schema[key];
  return isSchema(part) ? part : undefined;
}

function textIn(schema: Schema, key: string): string {
  const text = schema[key];
  return typeof text === "string" ? text : "";
}

function listIn(schema: Schema, key: string): string[] {
  const list = schema[key];
  return Array.isArray(list) ? list.map(String) : [];
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
