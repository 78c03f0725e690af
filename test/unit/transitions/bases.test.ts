import { expect, it } from "vitest";
import { KINDS } from "../../../src/api/v1alpha1/kinds.ts";
import { basesOf, baseWith } from "../../transitions/bases.ts";
import { fieldsOf, specSchemaOf } from "../../transitions/schema.ts";

it.each(KINDS.map(({ resource }) => resource.kind))("%s: every field has a base from which it can change", (kind) => {
  const bases = basesOf({ namespace: "team", simulator: { url: "http://127.0.0.1:9" } }).filter(
    (base) => base.kind === kind,
  );
  const without = fieldsOf(specSchemaOf(kind)).filter(({ path }) => baseWith(bases, path) === undefined);
  expect(without.map(({ path }) => path)).toEqual([]);
});
