import { describe, expect, it } from "vitest";
import { createUsageLedger, type UsageLedger, WRITE_MS } from "../../../../src/controllers/billing/ledger.ts";
import type { Usage } from "../../../../src/controllers/billing/usage.ts";
import type { KubeObject } from "../../../../src/kube/types.ts";
import { createFakeClock, type FakeClock } from "../../../support/fake-clock.ts";
import {
  type Answer,
  type ApiRequest,
  type ScriptedApi,
  scriptedApi,
  silentLog,
} from "../../../support/scripted-api-server.ts";

const ACCOUNT = "ClusterAccount/default";
const used = (change: Partial<Usage> = {}): Usage => ({
  account: ACCOUNT,
  namespace: "film",
  object: "GpuEndpoint/chat",
  created: 1_772_000_000,
  meter: "product/gpu-1",
  day: "2026-03-05",
  quantity: 60,
  requests: 0,
  ...change,
});
const { signal } = new AbortController();

type World = { api: ScriptedApi; clock: FakeClock; fail: (how: (request: ApiRequest) => Answer | undefined) => void };

/** An API server that keeps ConfigMaps with optimistic locks. `fail`: another answer after the request took effect. */
async function setUp(): Promise<World> {
  const maps = new Map<string, KubeObject>();
  let version = 0;
  let fail: (request: ApiRequest) => Answer | undefined = () => undefined;
  const handle = ({ method, path, body }: ApiRequest): Answer => {
    const object = body as KubeObject;
    const name = method === "POST" ? object.metadata.name : (path.split("/").at(-1) ?? "");
    const present = maps.get(name);
    if (method === "GET") return present === undefined ? { status: 404, body: {} } : { body: present };
    if (method === "POST" && present !== undefined) return { status: 409, body: { reason: "AlreadyExists" } };
    if (method === "PUT" && present?.metadata.resourceVersion !== object.metadata.resourceVersion) {
      return { status: 409, body: { reason: "Conflict" } };
    }
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(++version) } };
    maps.set(name, stored);
    return { body: stored };
  };
  const api = await scriptedApi((request) => {
    const answer = handle(request);
    return fail(request) ?? answer;
  });
  return {
    api,
    clock: createFakeClock(),
    fail: (how) => {
      fail = how;
    },
  };
}

const ledgerOf = ({ api, clock }: World, identity = "one"): UsageLedger =>
  createUsageLedger({ client: api.client, namespace: "mooring", identity, clock, log: silentLog });
const total = async (ledger: UsageLedger, months = ["2026-03"]) =>
  (await ledger.read(ACCOUNT, months, signal)).reduce((sum, { quantity }) => sum + quantity, 0);
const writesOf = ({ api }: World) => api.requests.filter(({ method }) => method !== "GET").length;

describe("the usage ledger", () => {
  it("shows usage at once, and a restarted operator goes on with it", async () => {
    const world = await setUp();
    const first = ledgerOf(world);
    first.add(used());
    expect(await total(first)).toBe(60);
    expect(writesOf(world)).toBe(0);
    await first.stop();
    const second = ledgerOf(world, "two");
    second.add(used({ quantity: 5 }));
    expect(await total(second)).toBe(65);
    await second.stop();
    expect(await total(ledgerOf(world, "three"))).toBe(65);
  });

  it("writes at most every ten minutes, however much is added, and nothing when nothing is added", async () => {
    const world = await setUp();
    const ledger = ledgerOf(world);
    ledger.start();
    for (let minute = 0; minute < 9; minute++) {
      ledger.add(used());
      await world.clock.advance(60_000);
    }
    expect(writesOf(world)).toBe(0);
    await world.clock.advance(60_000);
    await expect.poll(() => writesOf(world)).toBe(1);
    await world.clock.advance(3 * WRITE_MS);
    expect(writesOf(world)).toBe(1);
    await ledger.stop();
  });

  it("counts a write whose response is lost once", async () => {
    const world = await setUp();
    const ledger = ledgerOf(world);
    ledger.add(used());
    world.fail(({ method }) => (method === "GET" ? undefined : "cut"));
    await ledger.stop();
    expect(await total(ledger)).toBe(60);
    world.fail(() => undefined);
    ledger.add(used({ quantity: 1 }));
    await ledger.stop();
    expect(await total(ledger)).toBe(61);
    expect(await total(ledgerOf(world, "two"))).toBe(61);
  });

  it("keeps what another process wrote meanwhile", async () => {
    const world = await setUp();
    const [one, two] = [ledgerOf(world, "one"), ledgerOf(world, "two")];
    one.add(used());
    await one.stop();
    one.add(used({ quantity: 1 }));
    two.add(used({ quantity: 100 }));
    await Promise.all([one.stop(), two.stop()]);
    expect(await total(ledgerOf(world, "three"))).toBe(161);
  });

  it("counts a write whose response is lost once, also when another process writes in between", async () => {
    const world = await setUp();
    const [one, two] = [ledgerOf(world, "one"), ledgerOf(world, "two")];
    one.add(used());
    world.fail(({ method }) => (method === "GET" ? undefined : "cut"));
    await one.stop();
    world.fail(() => undefined);
    two.add(used({ quantity: 100 }));
    await two.stop();
    await one.stop();
    expect(await total(ledgerOf(world, "three"))).toBe(160);
  });

  it("keeps thirteen months, each account by itself", async () => {
    const world = await setUp();
    const ledger = ledgerOf(world);
    const months = Array.from({ length: 14 }, (_, index) => {
      const month = new Date(Date.UTC(2026, index, 1)).toISOString().slice(0, 7);
      ledger.add(used({ day: `${month}-01`, quantity: index + 1 }));
      return month;
    });
    ledger.add(used({ account: "Account/a/b", day: "2027-02-01", quantity: 1_000 }));
    await ledger.stop();
    expect(await total(ledger, months)).toBe((14 * 15) / 2 - 1);
    expect(await total(ledger, months.slice(0, 1))).toBe(0);
  });

  it("names a ConfigMap whose content it cannot read", async () => {
    const world = await setUp();
    const ledger = ledgerOf(world);
    world.fail(() => ({ body: { metadata: { name: "x" }, data: { month: "2026-03", usage: "[1]" } } }));
    await expect(total(ledger)).rejects.toThrow(
      /^ConfigMap mooring\/mooring-usage-\d+ has content that Mooring did not write/,
    );
  });
});
