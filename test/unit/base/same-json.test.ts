import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { expect, it } from "vitest";
import { isSameJSON } from "../../../src/base/same-json.ts";

it.each<[unknown, unknown, boolean]>([
  [{ a: 1, b: [1, { c: "x" }] }, { b: [1, { c: "x" }], a: 1 }, true],
  [[], {}, false],
  [null, {}, false],
  [{ a: undefined }, {}, false],
  [{ a: undefined }, { b: undefined }, false],
  [JSON.parse('{"__proto__":{"a":1}}'), JSON.parse('{"__proto__":{"a":2}}'), false],
  [JSON.parse('{"__proto__":{"a":1}}'), {}, false],
])("%j and %j: %s", (a, b, same) => {
  expect([isSameJSON(a, b), isSameJSON(b, a)]).toEqual([same, same]);
});

it("decides as Node does, whatever the values are", () => {
  const few = fc.letrec((tie) => ({
    json: fc.oneof(
      { depthSize: "small" },
      fc.constantFrom(null, true, 0, 1, "", "a"),
      fc.array(tie("json"), { maxLength: 2 }),
      fc.dictionary(fc.constantFrom("a", "b"), tie("json"), { noNullPrototype: true }),
    ),
  })).json;
  fc.assert(fc.property(few, few, (a, b) => isSameJSON(a, b) === isDeepStrictEqual(a, b)));
  fc.assert(fc.property(fc.jsonValue(), (value) => isSameJSON(value, structuredClone(value))));
});
