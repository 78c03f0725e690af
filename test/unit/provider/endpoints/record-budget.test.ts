import { expect, it } from "vitest";
import { createRecordBudget } from "../../../../src/provider/endpoints/record-budget.ts";
import { createEndpointSweep } from "../../../../src/provider/endpoints/sweep.ts";
import { ServiceError } from "../../../../src/provider/errors.ts";
import { desiredOf, endpointOf, recordOf } from "../../../support/endpoints.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { silentLog } from "../../../support/scripted-api-server.ts";

it("an account with more than an equal part gets no more when the memory of all accounts is used; another one does", () => {
  const budget = createRecordBudget(1_000);
  const [greedy, modest] = [budget.open(), budget.open()];
  const [list, cache] = [greedy.share(), greedy.share()];
  expect([list(600), cache(300)]).toEqual([true, true]);
  expect(modest.share()(400)).toBe(true);
  expect(cache(301)).toBe(false);
  expect([list(0), cache(301), budget.inUse()]).toEqual([true, true, 701]);
  greedy.close();
  expect(budget.inUse()).toBe(400);
});

it("all accounts together remember 128 MiB, which leaves room under the limit that the chart sets", () => {
  const keep = createRecordBudget().open().share();
  expect([keep(128 * 1024 * 1024), keep(128 * 1024 * 1024 + 1)]).toEqual([true, false]);
});

it("a service that lists ever more endpoints loses its own list, and no other account's", async () => {
  const clock = createFakeClock();
  const budget = createRecordBudget(1024 * 1024);
  const record = recordOf(desiredOf(endpointOf()), { id: "", appName: "" });
  const sweepOf = (count: () => number) => {
    const errors: string[] = [];
    let lists = 0;
    const sweep = createEndpointSweep({
      generation: "Current",
      pageSize: 100,
      intervalMs: 60_000,
      clock,
      log: silentLog,
      wanted: () => true,
      expected: () => 0,
      onChange: () => {},
      onError: (error) => errors.push(String(error)),
      records: budget.open(),
      client: {
        listEndpoints: async ({ cursor }) => {
          if (cursor === undefined) lists++;
          const page = Number(cursor ?? 0);
          const data = Array.from({ length: 100 }, (_, i) => ({ ...record, id: `${lists}-${page}-${i}` }));
          return { data, nextCursor: String(page + 1), hasMore: page + 1 < count() };
        },
        listEndpointsEarlier: async () => ({ endpoints: [], data: [], total: 0 }),
      },
    });
    sweep.start();
    return { sweep, errors };
  };
  const modest = sweepOf(() => 1);
  const greedy = sweepOf(() => 1_000);
  await clock.advance(10 * 60_000);
  expect(greedy.errors[0]).toContain("the list of endpoints is incomplete: the endpoints of all accounts take");
  expect(greedy.errors[0]).toContain("more than an equal part");
  expect(modest.errors).toEqual([]);
  expect(modest.sweep.list()?.length).toBeGreaterThan(0);
  expect(budget.inUse()).toBeLessThan(1.5 * 1024 * 1024);
  await Promise.all([modest.sweep.stop(), greedy.sweep.stop()]);
});

it("records of endpoints that objects are bound to count for nothing, after a list that cannot be read too", async () => {
  const clock = createFakeClock();
  const budget = createRecordBudget(1024 * 1024);
  const record = recordOf(desiredOf(endpointOf()), { id: "", appName: "" });
  const data = Array.from({ length: 100 }, (_, i) => ({ ...record, id: `e-${i}` }));
  const inUse: number[] = [];
  let lists = 0;
  const sweep = createEndpointSweep({
    generation: "Current",
    pageSize: 100,
    intervalMs: 60_000,
    clock,
    log: silentLog,
    wanted: () => true,
    expected: () => 100,
    onChange: () => {},
    onListed: () => inUse.push(budget.inUse()),
    onError: () => inUse.push(budget.inUse()),
    records: budget.open(),
    client: {
      listEndpoints: async () => {
        if (++lists > 1) {
          throw new ServiceError({
            kind: "UnreadableResponse",
            delivery: "Unknown",
            operation: "listEndpoints",
            message: "",
          });
        }
        return { data, nextCursor: "", hasMore: false };
      },
      listEndpointsEarlier: async () => ({ endpoints: [], data: [], total: 0 }),
    },
  });
  sweep.start();
  await clock.advance(65_000);
  expect(inUse).toEqual([0, 0]);
  await sweep.stop();
});

it("endpoints that objects become bound to while a list is read count for nothing in it", async () => {
  const clock = createFakeClock();
  const record = recordOf(desiredOf(endpointOf()), { id: "", appName: "" });
  const data = Array.from({ length: 1_000 }, (_, i) => ({ ...record, id: `e-${i}` }));
  const errors: unknown[] = [];
  let bound = 0;
  const sweep = createEndpointSweep({
    generation: "Current",
    pageSize: 1_000,
    intervalMs: 60_000,
    clock,
    log: silentLog,
    wanted: () => true,
    expected: () => bound,
    onChange: () => void bound++,
    onError: (error) => errors.push(error),
    records: createRecordBudget(32 * 1024).open(),
    client: {
      listEndpoints: async () => ({ data, nextCursor: "", hasMore: false }),
      listEndpointsEarlier: async () => ({ data: [], total: 0 }),
    },
  });
  sweep.start();
  await clock.advance(0);
  expect([errors, sweep.total()]).toEqual([[], 1_000]);
  await sweep.stop();
});
