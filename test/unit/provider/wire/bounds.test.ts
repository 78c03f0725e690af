import { expect, it } from "vitest";
import { fromCurrent, fromEarlier } from "../../../../src/provider/endpoints/endpoint-record.ts";
import { MOST } from "../../../../src/provider/wire/bounds.ts";

const of = <T>(count: number, item: T) => Array.from({ length: count }, () => item);

it.each([
  { list: "workers", most: MOST.workers, item: {} },
  { list: "envs", most: MOST.variables, item: { key: "a", value: "b" } },
  { list: "ports", most: MOST.ports, item: 80 },
])("an endpoint with more than $most $list is refused, because a part of them would mean something else", (row) => {
  const { list, most, item } = row;
  for (const [recordFrom, one] of [
    [fromCurrent, item],
    [fromEarlier, list === "ports" ? { port: "80" } : item],
  ] as const) {
    const read = (count: number) => recordFrom({ id: "e", [list]: of(count, one) });
    expect(read(most).id).toBe("e");
    expect(() => read(most + 1)).toThrow(`${list} has more than ${most} elements`);
  }
});
