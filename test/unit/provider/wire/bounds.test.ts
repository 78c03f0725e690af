import { expect, it } from "vitest";
import { MOST } from "../../../../src/provider/wire/bounds.ts";
import { endpointV1 } from "../../../../src/provider/wire/endpoints-v1.ts";
import { endpointV2 } from "../../../../src/provider/wire/endpoints-v2.ts";

const of = <T>(count: number, item: T) => Array.from({ length: count }, () => item);

it.each([
  { list: "workers", most: MOST.workers, item: {} },
  { list: "envs", most: MOST.variables, item: { key: "a", value: "b" } },
  { list: "ports", most: MOST.ports, item: 80 },
])("an endpoint with more than $most $list is refused, because a part of them would mean something else", (row) => {
  const { list, most, item } = row;
  for (const [schema, one] of [
    [endpointV2, item],
    [endpointV1, list === "ports" ? { port: "80" } : item],
  ] as const) {
    const parse = (count: number) => schema.safeParse({ id: "e", [list]: of(count, one) });
    expect(parse(most).success).toBe(true);
    expect(parse(most + 1).error?.issues[0]?.message).toBe(`has more than ${most} elements`);
  }
});
