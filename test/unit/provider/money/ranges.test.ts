import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { billsBegin, type Cycle, currentPeriods, splitPeriod } from "../../../../src/provider/money/ranges.ts";
import { timeZone } from "../../../../src/provider/money/time-zone.ts";
import { seconds } from "../../../support/bills.ts";

const DAY = 86_400;
const utc = timeZone("UTC");
const iso = (time: number) => new Date(time * 1000).toISOString().replace(".000Z", "Z");
const cuts = (from: string, to: string, cycle: Cycle, zone = utc) =>
  splitPeriod({ startTime: seconds(from), endTime: seconds(to) }, cycle, zone)
    .slice(1)
    .map(({ startTime }) => iso(startTime));

describe("ranges of a period", () => {
  it.each([
    {
      name: "31 days stay whole",
      from: "2026-01-15T00:00:00Z",
      to: "2026-02-15T00:00:00Z",
      cycle: "Day",
      zone: "UTC",
      expected: [],
    },
    {
      name: "a second more is cut by month",
      from: "2026-01-15T00:00:00Z",
      to: "2026-02-15T00:00:01Z",
      cycle: "Day",
      zone: "UTC",
      expected: ["2026-02-01T00:00:00Z"],
    },
    {
      name: "a cut at the very end is none",
      from: "2026-01-01T00:00:00Z",
      to: "2026-03-01T00:00:00Z",
      cycle: "Month",
      zone: "UTC",
      expected: ["2026-02-01T00:00:00Z"],
    },
    {
      name: "over the end of a year",
      from: "2026-11-30T12:00:00Z",
      to: "2027-01-02T00:00:00Z",
      cycle: "Day",
      zone: "UTC",
      expected: ["2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"],
    },
    {
      name: "by the clock of the account",
      from: "2026-01-01T00:00:00Z",
      to: "2026-03-01T00:00:00Z",
      cycle: "Day",
      zone: "Asia/Shanghai",
      expected: ["2026-01-31T16:00:00Z", "2026-02-28T16:00:00Z"],
    },
    {
      name: "by an offset",
      from: "2026-01-01T00:00:00Z",
      to: "2026-02-15T00:00:00Z",
      cycle: "Day",
      zone: "-03:30",
      expected: ["2026-01-01T03:30:00Z", "2026-02-01T03:30:00Z"],
    },
    {
      name: "by a clock that changes",
      from: "2026-03-01T05:00:00Z",
      to: "2026-05-01T04:00:00Z",
      cycle: "Day",
      zone: "America/New_York",
      expected: ["2026-04-01T04:00:00Z"],
    },
    {
      name: "weeks are cut on Mondays",
      from: "2026-01-01T00:00:00Z",
      to: "2026-03-01T00:00:00Z",
      cycle: "Week",
      zone: "UTC",
      expected: ["2026-01-26T00:00:00Z", "2026-02-23T00:00:00Z"],
    },
  ] as const)("$name", ({ from, to, cycle, zone, expected }) => {
    expect(cuts(from, to, cycle, timeZone(zone))).toEqual(expected);
  });

  it("a period that ends before it begins has none", () => {
    expect(splitPeriod({ startTime: 10, endTime: 10 }, "Day", utc)).toEqual([]);
  });

  it("cover the period without a gap or an overlap, none longer than a calendar month", () => {
    const zones = ["UTC", "Asia/Shanghai", "America/Sao_Paulo", "Europe/London", "+05:45"].map(timeZone);
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 700 * DAY }),
        fc.integer({ min: 1, max: 600 * DAY }),
        fc.constantFrom<Cycle>("Day", "Week", "Month"),
        fc.constantFrom(...zones),
        (offset, length, cycle, zone) => {
          const startTime = billsBegin(zone) + offset;
          const ranges = splitPeriod({ startTime, endTime: startTime + length }, cycle, zone);
          expect(ranges[0]?.startTime).toBe(startTime);
          expect(ranges.at(-1)?.endTime).toBe(startTime + length);
          for (const [index, range] of ranges.entries()) {
            expect(range.endTime).toBeGreaterThan(range.startTime);
            expect(range.endTime - range.startTime).toBeLessThanOrEqual(31 * DAY + 3600); // a month in which clocks go back
            if (index > 0) expect(range.startTime).toBe(ranges[index - 1]?.endTime);
          }
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe("the account's clock", () => {
  it.each([
    ["UTC", "2026-01-01T00:00:00Z"],
    ["Asia/Shanghai", "2025-12-31T16:00:00Z"],
    ["+08:00", "2025-12-31T16:00:00Z"],
    ["America/New_York", "2026-01-01T05:00:00Z"],
  ])("bills begin by %s at %s", (name, time) => {
    expect(iso(billsBegin(timeZone(name)))).toBe(time);
  });

  it("knows the day, the week from Monday and the month", () => {
    // A Sunday in UTC, a Monday already in Shanghai.
    const now = seconds("2026-03-01T20:00:00Z");
    const shown = (name: string) => Object.values(currentPeriods(now, timeZone(name))).map(iso);
    expect(shown("UTC")).toEqual(["2026-03-01T00:00:00Z", "2026-02-23T00:00:00Z", "2026-03-01T00:00:00Z"]);
    expect(shown("Asia/Shanghai")).toEqual(["2026-03-01T16:00:00Z", "2026-03-01T16:00:00Z", "2026-02-28T16:00:00Z"]);
  });

  it("a day without a midnight begins at its first moment", () => {
    // Clocks in Santiago went from 24:00 to 01:00 on 2024-09-08.
    expect(iso(timeZone("America/Santiago").startOf({ year: 2024, month: 9, day: 8 }))).toBe("2024-09-08T04:00:00Z");
  });

  it("a name that is none is refused with what may be said", () => {
    expect(() => timeZone("Mars/Base")).toThrow(
      '"Mars/Base" is not a time zone: use UTC, a name such as Asia/Shanghai',
    );
  });
});
