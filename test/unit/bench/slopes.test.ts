import { expect, it } from "vitest";
import { slopesOf } from "../../../bench/slopes.ts";

const MINUTE_MS = 60_000;
const sampled = (minutes: number, value: (minute: number) => number) =>
  Array.from({ length: minutes + 1 }, (_, minute) => ({ at: minute * MINUTE_MS, values: { heap: value(minute) } }));

it("a value that grows by 2 a minute grows by 120 an hour", () => {
  const [heap] = slopesOf(
    sampled(40, (minute) => 100 + 2 * minute),
    10,
  );
  expect(heap?.name).toBe("heap");
  expect(heap?.perHour).toBeCloseTo(120, 5);
});

it("a heap that saws between collections does not grow", () => {
  const [heap] = slopesOf(
    sampled(40, (minute) => 100 + 10 * (minute % 4)),
    10,
  );
  expect(heap).toMatchObject({ first: 100, last: 100 });
  expect(heap?.perHour).toBeCloseTo(0, 5);
});

it("one sample has no slope", () => {
  expect(
    slopesOf(
      sampled(0, () => 1),
      10,
    ),
  ).toEqual([]);
});
