import { describe, expect, it } from "vitest";
import {
  createIndexSet,
  indexesOf,
  MAX_ITEMS,
  parseRanges,
  RANGES_LIMIT,
  rangesOf,
  shownIndexes,
} from "../../../../src/controllers/batch/index-set.ts";

describe("indexes of a batch", () => {
  it.each([
    { indexes: [], ranges: "" },
    { indexes: [0], ranges: "0" },
    { indexes: [3, 1, 2, 1], ranges: "1-3" },
    { indexes: [0, 1, 2, 415, 7, 8], ranges: "0-2,7-8,415" },
    { indexes: [MAX_ITEMS - 1], ranges: "99999" },
  ])("$indexes are shown as '$ranges', and read again", ({ indexes, ranges }) => {
    const set = createIndexSet(indexes);
    expect(rangesOf(set)).toBe(ranges);
    expect([...parseRanges(ranges).values()]).toEqual([...new Set(indexes)].sort((a, b) => a - b));
    expect(set.size()).toBe(new Set(indexes).size);
  });

  it("an index that is removed is not there any more", () => {
    const set = createIndexSet([4, 5, 6]);
    set.remove(5);
    set.remove(900);
    expect([rangesOf(set), set.size(), set.has(5)]).toEqual(["4,6", 2, false]);
  });

  it.each(["1-", "a", "5-2", "1,,2", "-1", "100000", "0-99999999"])("'%s' is refused", (text) => {
    expect(() => parseRanges(text)).toThrow();
  });

  it("an index that no batch has is refused", () => {
    expect(() => createIndexSet([MAX_ITEMS])).toThrow("index 100000 is not an integer from 0 to 99999");
    expect(() => createIndexSet([0.5])).toThrow();
  });

  it("100,000 items of which every second failed stay below 64 KiB in a status, and nothing is lost", () => {
    const halves = [0, 1].map((odd) => createIndexSet(Array.from({ length: 50_000 }, (_, i) => 2 * i + odd)));
    const shown = halves.map(shownIndexes);
    expect(JSON.stringify(shown).length).toBeLessThan(60 * 1024);
    for (const [at, { ranges, bitmap }] of shown.entries()) {
      expect(ranges.length).toBeLessThanOrEqual(RANGES_LIMIT);
      expect(ranges).toMatch(/^[\d,]+,\.\.\.$/);
      const again = indexesOf({ ranges, ...(bitmap === undefined ? {} : { bitmap }) });
      expect(again.size()).toBe(50_000);
      expect([...again.values()]).toEqual([...(halves[at]?.values() ?? [])]);
    }
  });

  it("a bitmap that is too large is refused", () => {
    expect(() => indexesOf({ ranges: "0,...", bitmap: Buffer.alloc(20_000).toString("base64") })).toThrow(
      "a bitmap of 20000 bytes has more than 100000 indexes",
    );
  });
});
