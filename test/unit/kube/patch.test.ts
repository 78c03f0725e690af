import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mergePatchOf } from "../../../src/kube/patch.ts";

type Json = Record<string, unknown>;
const isRecord = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** RFC 7396, section 2, word for word. */
function apply(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const result: Json = isRecord(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = apply(result[name], value);
  }
  return result;
}

describe("a merge patch", () => {
  it.each<[string, Json | undefined, Json, Json | undefined]>([
    ["of what is equal is nothing", { a: 1, b: { c: [1] } }, { b: { c: [1] }, a: 1 }, undefined],
    ["has only what changed", { a: 1, b: 2 }, { a: 1, b: 3 }, { b: 3 }],
    ["goes into objects", { a: { b: 1, c: 2 } }, { a: { b: 1, c: 3 } }, { a: { c: 3 } }],
    ["replaces lists whole", { a: [1, 2] }, { a: [1, 2, 3] }, { a: [1, 2, 3] }],
    ["removes what is gone", { a: 1, b: 2 }, { a: 1 }, { b: null }],
    ["removes what is undefined", { a: 1 }, { a: undefined }, { a: null }],
    ["does not remove what never was", {}, { a: undefined }, undefined],
    ["of nothing is everything", undefined, { a: { b: 1 } }, { a: { b: 1 } }],
    ["replaces an object by a value", { a: { b: 1 } }, { a: 1 }, { a: 1 }],
  ])("%s", (_name, from, to, expected) => {
    expect(mergePatchOf(from, to)).toEqual(expected);
  });

  it("turns the one into the other, whatever they are", () => {
    // A status holds no null: it could not be told from a removal.
    const { json } = fc.letrec<{ json: unknown; object: Json }>((tie) => ({
      json: fc.oneof(
        { depthSize: "small" },
        fc.string(),
        fc.integer(),
        fc.boolean(),
        fc.array(fc.integer()),
        tie("object"),
      ),
      object: fc.dictionary(fc.constantFrom("a", "b", "c", "d"), tie("json")),
    }));
    const objects = fc.dictionary(fc.constantFrom("a", "b", "c", "d"), json);
    fc.assert(
      fc.property(objects, objects, (from, to) => {
        const patch = mergePatchOf(from, to);
        expect(patch === undefined ? from : apply(from, patch)).toEqual(to);
        expect(mergePatchOf(to, to)).toBeUndefined();
      }),
    );
  });
});
