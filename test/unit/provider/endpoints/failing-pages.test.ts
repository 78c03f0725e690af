import { describe, expect, it, onTestFinished } from "vitest";
import type { EndpointRecord } from "../../../../src/provider/endpoints/endpoint-record.ts";
import type { Generation } from "../../../../src/provider/endpoints/pages.ts";
import { createEndpointSweep } from "../../../../src/provider/endpoints/sweep.ts";
import { type Delivery, ServiceError, type ServiceErrorKind } from "../../../../src/provider/errors.ts";
import { desiredOf, endpointOf, recordOf } from "../../../support/endpoints.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { capturedLog } from "../../../support/scripted-api-server.ts";

/** In [0, 1), the same for each run. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

/** A list of 14 pages whose reads fail as `fails` says. */
function world(
  generation: Generation,
  fails: (page: number) => ServiceErrorKind | undefined,
  delivery: Delivery = "Unknown",
) {
  const clock = createFakeClock();
  const { log, lines } = capturedLog("warn");
  const remote: EndpointRecord[] = Array.from({ length: 28 }, (_, index) =>
    recordOf(desiredOf(endpointOf()), { id: `e-${index}`, appName: `app-${index}` }),
  );
  const pages: number[] = [];
  let listed = 0;
  const page = (index: number) => {
    pages.push(index);
    const kind = fails(index);
    const operation = generation === "Earlier" ? "listEndpointsEarlier" : "listEndpoints";
    if (kind !== undefined) throw new ServiceError({ operation, kind, delivery, message: "it fails" });
    return remote.slice(index * 2, index * 2 + 2);
  };
  const sweep = createEndpointSweep({
    generation,
    pageSize: 2,
    intervalMs: 60_000,
    clock,
    log,
    wanted: () => true,
    expected: () => 0,
    onChange: () => {},
    onListed: () => {
      listed += 1;
    },
    onError: () => {},
    client: {
      listEndpoints: async ({ cursor = "0" }) => {
        const data = page(Number(cursor));
        const hasMore = Number(cursor) < 13;
        return { data, nextCursor: hasMore ? String(Number(cursor) + 1) : "", hasMore };
      },
      listEndpointsEarlier: async ({ pageNum }) => ({ data: page(pageNum - 1), total: remote.length }),
    },
  });
  onTestFinished(() => sweep.stop());
  sweep.start();
  return { clock, sweep, pages, lines, listed: () => listed };
}

describe.each<Generation>(["Current", "Earlier"])("a list of 14 pages (%s)", (generation) => {
  it("is complete every minute when 20 % of its reads fail", async () => {
    const random = numbers(generation.length);
    const w = world(generation, () => (random() < 0.2 ? "ServerError" : undefined));
    await w.clock.advance(600_000);
    expect(w.listed()).toBeGreaterThanOrEqual(6);
    expect(w.sweep.total()).toBe(28);
  });

  it("repeats the page that failed, and continues with the next one", async () => {
    let broken = 3;
    const w = world(generation, (page) => (page === 5 && broken-- > 0 ? "GatewayError" : undefined));
    await w.clock.advance(10_000);
    expect([w.pages.slice(4, 11), w.listed()]).toEqual([[4, 5, 5, 5, 5, 6, 7], 1]);
  });

  it("begins again after a page that fails six times", async () => {
    const w = world(generation, (page) => (page === 5 ? "Timeout" : undefined));
    await w.clock.advance(20_000);
    expect([w.pages.filter((page) => page === 5).length, w.listed()]).toEqual([6, 0]);
    await w.clock.advance(10_000);
    expect(w.pages.filter((page) => page === 0).length).toBe(2);
  });

  it("is worth a warning when it fails, but not when this process may not send", async () => {
    const w = world(generation, () => "Unauthorized");
    await w.clock.advance(1_000);
    expect(w.lines).toMatchObject([{ msg: "endpoints could not be listed" }]);
    const unserved = world(generation, () => "Aborted", "NotSent");
    await unserved.clock.advance(1_000);
    expect([unserved.pages.length > 0, unserved.lines]).toEqual([true, []]);
  });

  it.each<ServiceErrorKind>(["Unauthorized", "BreakerOpen", "UnreadableResponse", "InvalidRequest"])(
    "does not repeat a page after %s",
    async (kind) => {
      let broken = 1;
      const w = world(generation, (page) => (page === 5 && broken-- > 0 ? kind : undefined));
      await w.clock.advance(5_000);
      expect(w.pages.filter((page) => page === 5)).toHaveLength(1);
    },
  );

  it("does not repeat the first page: nothing is lost by a new list", async () => {
    const w = world(generation, () => "ServerError");
    await w.clock.advance(5_000);
    expect(w.pages).toEqual([0]);
  });
});
