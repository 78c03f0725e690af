import { expect, it } from "vitest";
import { KINDS } from "../../../src/api/v1alpha1/kinds.ts";
import { basesOf, baseWith, specFor } from "../../sim/transitions/bases.ts";
import { withValue } from "../../sim/transitions/paths.ts";
import { fieldsOf, specSchemaOf } from "../../sim/transitions/schema.ts";
import { candidatesOf } from "../../sim/transitions/values.ts";

const ALL_BASES = basesOf({ namespace: "team", simulator: { url: "http://127.0.0.1:9" } });
const kinds = KINDS.map(({ resource: { kind }, spec }) => ({
  kind,
  schema: spec,
  bases: ALL_BASES.filter((base) => base.kind === kind),
  fields: fieldsOf(specSchemaOf(kind)),
}));

it.each(kinds)("$kind: every field has a base from which it can change", ({ bases, fields }) => {
  const without = fields.filter(({ path }) => baseWith(bases, path) === undefined);
  expect(without.map(({ path }) => path)).toEqual([]);
});

// `npm run test:full -- --only transitions --long` gives the same values to the API server, which takes minutes.
it.each(kinds)("$kind: the schema agrees which values are valid", ({ kind, schema, bases, fields }) => {
  const wrong = fields.flatMap((field) => {
    const base = baseWith(bases, field.path)?.spec ?? {};
    return candidatesOf(kind, field, base).flatMap(({ value, expected }) => {
      const spec = specFor(withValue(base, field.path, value), "name");
      const isValid = schema.safeParse(spec).success;
      if (expected === "Either" || isValid === (expected === "Accepted")) return [];
      return [`${field.path}: ${JSON.stringify(value)?.slice(0, 60)} is not ${expected}`];
    });
  });
  expect(wrong).toEqual([]);
});
