import fc from "fast-check";
import { expect, it } from "vitest";
import { createMultiMap } from "../../../src/base/multi-map.ts";

const change = fc.record({
  add: fc.boolean(),
  key: fc.constantFrom("a", "b"),
  value: fc.constantFrom("x", "y", "z"),
});

it("has what a map of sets has, whatever was added and removed", () => {
  fc.assert(
    fc.property(fc.array(change), (changes) => {
      const map = createMultiMap<string>();
      const model = new Map(["a", "b"].map((key) => [key, new Set<string>()]));
      for (const { add, key, value } of changes) {
        map[add ? "add" : "remove"](key, value);
        model.get(key)?.[add ? "add" : "delete"](value);
        for (const [key, values] of model) expect(new Set(map.of(key))).toEqual(values);
      }
    }),
    { seed: 1 },
  );
});
