import { expect, it } from "vitest";
import { hashOf } from "../../../src/controllers/hash.ts";

it("a hash does not depend on key order or on undefined values, and depends on everything else", () => {
  const hash = hashOf({ a: 1, b: { c: [1, 2], d: "x" } });
  expect(hash).toMatch(/^[0-9a-f]{16}$/);
  expect(hashOf({ b: { d: "x", c: [1, 2] }, a: 1, e: undefined })).toBe(hash);
  expect(hashOf({ a: 1, b: { c: [2, 1], d: "x" } })).not.toBe(hash);
  expect(hashOf({ a: "1", b: { c: [1, 2], d: "x" } })).not.toBe(hash);
});
