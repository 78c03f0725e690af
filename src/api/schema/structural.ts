import * as z from "zod";

type SchemaNode = Record<string, unknown>;

const INT32_MAX = 2_147_483_647;

/** What a value may be before defaults are applied, as the structural OpenAPI v3 schema that a CRD takes. */
export function structuralSchema(schema: z.ZodType): SchemaNode {
  return structural(z.toJSONSchema(schema, { target: "openapi-3.0", io: "input" }) as SchemaNode);
}

/**
 * A JSON schema of zod made structural: one plain `type` per value, unions of objects as one object (their CEL rules tell the
 * variants apart), no `additionalProperties` beside properties, formats for integers, free-form objects marked as such.
 */
function structural(source: SchemaNode): SchemaNode {
  const { $schema, propertyNames, additionalProperties, oneOf, anyOf, ...rest } = source;
  const variants = asList(oneOf ?? anyOf);
  const node: SchemaNode = variants === undefined ? rest : { ...mergeObjects(variants), ...rest };

  if (node.type === "array") node.items = structural(asJson(node.items));
  if (node.type === "object") Object.assign(node, objectParts(node, additionalProperties));
  if (isIntegerEnum(node)) node.type = "integer";
  if (node.type === "integer") integerFormat(node);
  return node;
}

function objectParts(node: SchemaNode, additional: unknown): SchemaNode {
  const properties = Object.entries(asJson(node.properties ?? {}));
  if (properties.length > 0) {
    return { properties: Object.fromEntries(properties.map(([key, value]) => [key, structural(asJson(value))])) };
  }
  delete node.properties;
  const values = asJson(additional ?? {});
  return Object.keys(values).length > 0
    ? { additionalProperties: structural(values) }
    : { "x-kubernetes-preserve-unknown-fields": true };
}

/** One object with the properties of all; required is what every variant requires; the discriminator allows all its values. */
function mergeObjects(variants: readonly SchemaNode[]): SchemaNode {
  const properties: SchemaNode = {};
  for (const variant of variants) {
    for (const [key, value] of Object.entries(asJson(variant.properties))) {
      const present = properties[key];
      properties[key] = present === undefined ? value : mergeProperty(key, asJson(present), asJson(value));
    }
  }
  const required = asStrings(variants[0]?.required).filter((key) =>
    variants.every((variant) => asStrings(variant.required).includes(key)),
  );
  return { type: "object", properties, required };
}

function mergeProperty(key: string, a: SchemaNode, b: SchemaNode): SchemaNode {
  if (Array.isArray(a.enum) && Array.isArray(b.enum)) return { ...b, ...a, enum: [...new Set([...a.enum, ...b.enum])] };
  if (JSON.stringify(a) !== JSON.stringify(b)) {
    throw new Error(`property ${key} differs between the variants of a union: give both the same schema`);
  }
  return a;
}

function isIntegerEnum(node: SchemaNode): boolean {
  return Array.isArray(node.enum) && node.enum.every((value) => Number.isInteger(value));
}

/** zod bounds every integer by what JavaScript counts exactly; such a bound is no rule of the field. */
function integerFormat(node: SchemaNode): void {
  if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum;
  if (node.minimum === Number.MIN_SAFE_INTEGER) delete node.minimum;
  const small = node.enum !== undefined || (typeof node.maximum === "number" && node.maximum <= INT32_MAX);
  node.format = small ? "int32" : "int64";
}

function asJson(value: unknown): SchemaNode {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Error(`not a schema: ${JSON.stringify(value)}`);
  }
  return value as SchemaNode;
}

function asList(value: unknown): SchemaNode[] | undefined {
  return Array.isArray(value) ? value.map(asJson) : undefined;
}

function asStrings(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
