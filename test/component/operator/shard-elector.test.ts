import { describe, expect, it, onTestFinished } from "vitest";
import { leaseNameOf, type Shard } from "../../../src/operator/shard.ts";
import { createShardElector } from "../../../src/operator/shard-elector.ts";
import { SHARD_COUNT } from "../../../src/operator/shard-leases.ts";
import type { LeaderElector } from "../../../src/runtime/leader.ts";
import { createFakeClock, type FakeClock, until } from "../../support/fake-clock.ts";
import { createObjectStore, type ObjectStore } from "../../support/object-store.ts";
import { type ScriptedApi, scriptedApi, silentLog } from "../../support/scripted-api-server.ts";

const forever = new AbortController().signal;
const pathOf = (index: number) => `/apis/coordination.k8s.io/v1/namespaces/mooring/leases/${leaseNameOf(index)}`;

type World = { store: ObjectStore; api: ScriptedApi; clock: FakeClock; warnings: string[] };

async function world(): Promise<World> {
  const store = createObjectStore();
  return { store, api: await scriptedApi(store.script), clock: createFakeClock(), warnings: [] };
}

function put({ store }: World, index: number, lease: { holder: string; shards?: number }): void {
  const annotations = lease.shards === undefined ? {} : { [SHARD_COUNT]: String(lease.shards) };
  const metadata = { name: leaseNameOf(index), namespace: "mooring", annotations };
  store.put(pathOf(index), { metadata, spec: { holderIdentity: lease.holder } });
}

function electing(w: World, shard: Shard, identity: string): { elector: LeaderElector; leads: boolean } {
  const elector = createShardElector({
    client: w.api.client,
    namespace: "mooring",
    shard,
    identity,
    clock: w.clock,
    random: () => 0.5,
    log: Object.assign(Object.create(silentLog), {
      warn: (details: unknown, message: string) => void w.warnings.push(`${message} ${JSON.stringify(details)}`),
    }),
  });
  const seen = { elector, leads: false };
  elector.acquire(forever).then(
    () => {
      seen.leads = true;
    },
    () => undefined,
  );
  onTestFinished(() => elector.release());
  return seen;
}

const holderOf = ({ store }: World, index: number) => {
  const { holderIdentity } = (store.objects.get(pathOf(index))?.spec ?? {}) as { holderIdentity?: string };
  return holderIdentity ?? "";
};
/** Time for several attempts. `renew`: a lease that its holder renews meanwhile. */
async function wait(w: World, ms: number, renew?: () => void): Promise<void> {
  for (let elapsed = 0; elapsed < ms; elapsed += 500) {
    renew?.();
    await until(() => true, { clock: w.clock, stepMs: 250 });
    await w.clock.advance(500);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe("the leader of a shard", () => {
  it("leads beside those of the other shards", async () => {
    const w = await world();
    const shards = [0, 1, 2].map((index) => electing(w, { index, count: 3 }, `p${index}`));
    await until(() => shards.every(({ leads }) => leads), { clock: w.clock, stepMs: 250 });
    expect([0, 1, 2].map((index) => holderOf(w, index))).toEqual(["p0", "p1", "p2"]);
    expect(shards.every(({ elector }) => elector.surelyHeld())).toBe(true);
  });

  it("stands by while another process leads the shard", async () => {
    const w = await world();
    const first = electing(w, { index: 1, count: 3 }, "first");
    await until(() => first.leads, { clock: w.clock, stepMs: 250 });
    const second = electing(w, { index: 1, count: 3 }, "second");
    await wait(w, 20_000);
    expect([first.leads, second.leads, second.elector.surelyHeld()]).toEqual([true, false, false]);
  });

  it.each([
    { name: "another number of shards", lease: { holder: "old", shards: 3 }, shown: "divides the accounts by 3" },
    { name: "a version without shards", lease: { holder: "old" }, shown: "divides the accounts by 1" },
  ])("does not lead while a lease is held with $name, and names it", async ({ lease, shown }) => {
    const w = await world();
    put(w, 0, lease);
    const next = electing(w, { index: 1, count: 2 }, "new");
    await wait(w, 40_000, () => put(w, 0, lease));
    expect([next.leads, next.elector.surelyHeld(), holderOf(w, 0)]).toEqual([false, false, "old"]);
    expect(w.warnings[0]).toContain("lease mooring/mooring-operator is held by old");
    expect(w.warnings[0]).toContain(shown);

    put(w, 0, { ...lease, holder: "" });
    await until(() => next.leads, { clock: w.clock, stepMs: 250 });
  });

  it("ends the lease of another number when it has not changed for 15 s, so that its holder cannot renew it", async () => {
    const w = await world();
    const old = electing(w, { index: 2, count: 3 }, "old");
    await until(() => old.leads, { clock: w.clock, stepMs: 250 });
    // The old process sleeps: its clock stands still.
    const awake = { ...w, clock: createFakeClock() };
    const next = electing(awake, { index: 0, count: 2 }, "new");
    await wait(awake, 10_000);
    expect(next.leads).toBe(false);
    await until(() => next.leads, { clock: awake.clock, stepMs: 250 });
    expect(holderOf(w, 2)).toBe("");
    await until(() => old.elector.lost.aborted, { clock: w.clock, stepMs: 250 });
    expect(old.elector.surelyHeld()).toBe(false);
    expect(holderOf(w, 2)).toBe("");
  });

  it("leads with one number only, when processes with two numbers start at once", async () => {
    const w = await world();
    const processes = [
      electing(w, { index: 0, count: 2 }, "a0"),
      electing(w, { index: 1, count: 2 }, "a1"),
      electing(w, { index: 1, count: 3 }, "b1"),
      electing(w, { index: 2, count: 3 }, "b2"),
    ];
    for (let step = 0; step < 60; step++) {
      await wait(w, 500);
      const [a, b] = [processes.slice(0, 2), processes.slice(2)].map((some) => some.some(({ leads }) => leads));
      expect(a && b).toBe(false);
    }
  });
});
