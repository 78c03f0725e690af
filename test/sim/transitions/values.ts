import { DOMAIN } from "./domain.ts";
import { valueAt } from "./paths.ts";
import type { Field, Schema } from "./schema.ts";

/**
 * A value of a field and what the API server must do with it. `Either`: the schema allows it, and a rule on other fields may refuse
 * it. `undefined` removes the field.
 */
export type Candidate = { value: unknown; expected: "Accepted" | "Rejected" | "Either" };

const accepted = (value: unknown): Candidate => ({ value, expected: "Accepted" });
const rejected = (value: unknown): Candidate => ({ value, expected: "Rejected" });
const either = (value: unknown): Candidate => ({ value, expected: "Either" });

/** Valid, boundary and invalid values of a field of `kind`. */
export function candidatesOf(kind: string, { path, schema, isRequired }: Field, base: object): Candidate[] {
  const row = DOMAIN.find((one) => one.kinds.includes(kind) && one.path.test(path));
  return [
    ...(row?.valid ?? []).map(accepted),
    ...(row?.invalid ?? []).map(rejected),
    ...(row?.odd ?? []).map(either),
    ...fromSchema(schema, { present: valueAt(base, path), hasDomain: row !== undefined, field: `${kind}${path}` }),
    ...(isRequired ? [rejected(undefined)] : [either(undefined)]),
  ];
}

type FieldFacts = { present: unknown; hasDomain: boolean; field: string };

function fromSchema(schema: Schema, facts: FieldFacts): Candidate[] {
  const { enum: words } = schema;
  if (words !== undefined) return [...words.map(either), rejected(schema.type === "integer" ? 7 : "NoSuchWord")];
  switch (schema.type) {
    case "boolean":
      return [accepted(true), accepted(false), rejected("yes")];
    case "integer":
    case "number":
      return numbers(schema);
    case "string":
      return texts(schema, facts);
    case "array":
      return lists(schema, facts);
    case "object":
      return [rejected("text")];
  }
}

function numbers({ type, minimum, maximum }: Schema): Candidate[] {
  const step = type === "integer" ? 1 : 0.5;
  return [
    ...(minimum === undefined && maximum === undefined ? [accepted(7), accepted(-1)] : []),
    ...(minimum === undefined ? [] : [either(minimum + step), rejected(minimum - step)]),
    ...(maximum === undefined ? [] : [either(maximum), rejected(maximum + step)]),
    rejected("seven"),
    ...(type === "integer" ? [rejected(1.5)] : []),
  ];
}

function texts({ minLength = 0, maxLength, format }: Schema, { hasDomain, field }: FieldFacts): Candidate[] {
  const typical = hasDomain || format !== undefined ? [] : [accepted("a-value"), accepted("another-value")];
  // Objects run side by side: what one field exports to is not what another one refers to.
  const long = (length: number) =>
    field
      .toLowerCase()
      .replaceAll(/[^a-z]/g, "")
      .padEnd(length, "x")
      .slice(0, length);
  const longest = maxLength === undefined ? [] : [either(long(maxLength)), rejected(long(maxLength + 1))];
  return [...typical, ...longest, ...(minLength > 0 ? [rejected("")] : [either("")]), rejected(7)];
}

function lists({ minItems = 0, maxItems, items }: Schema, { present }: FieldFacts): Candidate[] {
  const element: unknown = Array.isArray(present) ? present[0] : items?.enum?.[0];
  const tooMany = maxItems === undefined ? [] : [rejected(Array.from({ length: maxItems + 1 }, () => element))];
  return [...(minItems > 0 ? [rejected([])] : [either([])]), ...tooMany, rejected("text")];
}
