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
  it.each<{ name: string; from: Json | undefined; to: Json; expected: Json | undefined }>([
    {
      name: "of what is equal is nothing",
      from: { a: 1, b: { c: [1] } },
      to: { b: { c: [1] }, a: 1 },
      expected: undefined,
    },
    { name: "has only what changed", from: { a: 1, b: 2 }, to: { a: 1, b: 3 }, expected: { b: 3 } },
    { name: "goes into objects", from: { a: { b: 1, c: 2 } }, to: { a: { b: 1, c: 3 } }, expected: { a: { c: 3 } } },
    { name: "replaces lists whole", from: { a: [1, 2] }, to: { a: [1, 2, 3] }, expected: { a: [1, 2, 3] } },
    { name: "removes what is gone", from: { a: 1, b: 2 }, to: { a: 1 }, expected: { b: null } },
    { name: "removes what is undefined", from: { a: 1 }, to: { a: undefined }, expected: { a: null } },
    { name: "does not remove what never was", from: {}, to: { a: undefined }, expected: undefined },
    { name: "of nothing is everything", from: undefined, to: { a: { b: 1 } }, expected: { a: { b: 1 } } },
    { name: "replaces an object by a value", from: { a: { b: 1 } }, to: { a: 1 }, expected: { a: 1 } },
  ])("$name", ({ from, to, expected }) => {
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
