import { describe, expect, it } from "vitest";
import { assumptions } from "../../../src/simulator/assumptions.ts";
import { coveringArray, pairsIn, pairsOf } from "../../sim/pairs/covering-array.ts";
import { FACTORS, LEVELS, ROWS, switchesOf } from "../../sim/pairs/factors.ts";

const textsOf = (pairs: object[]) => new Set(pairs.map((pair) => JSON.stringify(pair)));

describe("coveringArray", () => {
  it.each([
    { levels: [2, 2, 2], most: 5 },
    { levels: [3, 2, 4, 2], most: 13 },
    { levels: Array.from({ length: 20 }, () => 2), most: 14 },
  ])("$levels: every pair of values is in a row, and there are at most $most rows", ({ levels, most }) => {
    const rows = coveringArray(levels);
    expect(textsOf(rows.flatMap(pairsIn))).toEqual(textsOf(pairsOf(levels)));
    expect(rows.length).toBeLessThanOrEqual(most);
    expect(coveringArray(levels)).toEqual(rows);
  });
});

describe("the open behaviors", () => {
  it("have every pair of values in a row", () => {
    expect(textsOf(ROWS.flatMap(pairsIn))).toEqual(textsOf(pairsOf(LEVELS)));
  });

  it("have different names, and values that the simulator takes", () => {
    expect(new Set(FACTORS.map(({ name }) => name)).size).toBe(FACTORS.length);
    for (const { values } of FACTORS) {
      expect(new Set(values.map(({ name }) => name)).size).toBe(values.length);
      for (const { simulator = {} } of values) expect(() => assumptions.parse(simulator)).not.toThrow();
    }
    expect(Math.max(...ROWS.map((row) => switchesOf(row).length))).toBeGreaterThan(20);
  });

  /** What a value of time, size or price cannot change in kind. */
  const AMOUNTS = [
    "timeScale",
    "apiKeys",
    "limits",
    "rootfsSizeGB",
    "localVolumeSizeGB",
    "storages",
    "refuseUnknownStorage",
    "speechTaskMs",
    "videoTaskMs",
    "failTasksWith",
    "publicURL",
    "videoPaddingBytes",
    "charactersPerSecond",
    "maxAudioSeconds",
    "streamChunkBytes",
    "prices",
  ];

  it("contain every switch of the simulator that is not an amount", () => {
    const used = FACTORS.flatMap(({ values }) => values.flatMap(({ simulator = {} }) => Object.keys(simulator)));
    const missing = Object.keys(assumptions.shape).filter((name) => !used.includes(name) && !AMOUNTS.includes(name));
    expect(missing).toEqual([]);
  });
});
