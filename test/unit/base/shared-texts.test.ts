import { expect, it } from "vitest";
import { createSharedTexts, MOST } from "../../../src/base/shared-texts.ts";

it("leaves each value as it is", () => {
  const { share } = createSharedTexts();
  const value = () => ({
    name: "a",
    long: "x".repeat(10_000),
    none: null,
    list: ["a", 1, { deep: ["a", true] }],
    "a key that is no identifier": "a",
  });
  const shared = value();
  share(shared);
  share(shared);
  expect(shared).toEqual(value());
});

it("remembers the last texts alone, however many objects there are", () => {
  const texts = createSharedTexts();
  for (let index = 0; index < 10 * MOST; index++) texts.share({ name: `object-${index}`, image: "the same" });
  expect(texts.size()).toBeGreaterThan(MOST);
  expect(texts.size()).toBeLessThanOrEqual(2 * MOST);
});
