import { describe, expect, it, onTestFinished } from "vitest";
import { assertSurelyHeld, createLeaderElector, type LeaseElector } from "../../../src/runtime/leader.ts";
import { createFakeClock, type FakeClock, until } from "../../support/fake-clock.ts";
import { createObjectStore, type ObjectStore, type Stored } from "../../support/object-store.ts";
import { type Answer, failure, type ScriptedApi, scriptedApi, silentLog } from "../../support/scripted-api-server.ts";

const PATH = "/apis/coordination.k8s.io/v1/namespaces/mooring/leases/mooring";
const forever = new AbortController().signal;

type World = { api: ScriptedApi; store: ObjectStore; clock: FakeClock; told: boolean[] };

async function world(lease?: Record<string, unknown>): Promise<World> {
  const store = createObjectStore();
  if (lease !== undefined) store.put(PATH, { metadata: { name: "mooring", namespace: "mooring" }, spec: lease });
  return { store, api: await scriptedApi(store.script), clock: createFakeClock(), told: [] };
}

function elector(w: World, identity = "one"): LeaseElector {
  const made = createLeaderElector({
    client: w.api.client,
    namespace: "mooring",
    name: "mooring",
    identity,
    clock: w.clock,
    log: silentLog,
    onLeading: (leading) => w.told.push(leading),
  });
  onTestFinished(() => released(w, made));
  return made;
}

/** Gives the lease up while time goes on. */
async function released({ clock }: World, leader: LeaseElector): Promise<void> {
  let ended = false;
  void leader.release().then(() => {
    ended = true;
  });
  await until(() => ended, { clock, stepMs: 100 });
}

const spec = ({ store }: World) => (store.objects.get(PATH)?.spec ?? {}) as Record<string, unknown>;
const held = {
  holderIdentity: "other",
  leaseDurationSeconds: 15,
  acquireTime: "2026-02-28T23:00:00.000000Z",
  renewTime: "2026-02-28T23:59:59.000000Z",
  leaseTransitions: 4,
};

/** Begins to acquire; `at` is the elapsed time of success. */
function acquiring(w: World, leader: LeaseElector): { at: number | undefined } {
  const seen: { at: number | undefined } = { at: undefined };
  const began = w.clock.monotonic();
  leader.acquire(forever).then(
    () => {
      seen.at = w.clock.monotonic() - began;
    },
    () => undefined,
  );
  return seen;
}

describe("the lease", () => {
  it("is made by the first", async () => {
    const w = await world();
    const leader = elector(w);
    expect(leader.surelyHeld()).toBe(false);
    await leader.acquire(forever);
    expect(spec(w)).toEqual({
      holderIdentity: "one",
      leaseDurationSeconds: 15,
      acquireTime: "2026-03-01T00:00:00.000000Z",
      renewTime: "2026-03-01T00:00:00.000000Z",
      leaseTransitions: 0,
    });
    expect([leader.surelyHeld(), w.told]).toEqual([true, [true]]);
  });

  it.each([
    { name: "released", lease: { ...held, holderIdentity: "", leaseDurationSeconds: 1 }, transitions: 5 },
    {
      name: "its own, of before a restart under the same name",
      lease: { ...held, holderIdentity: "one" },
      transitions: 4,
    },
  ])("is taken at once when it is $name", async ({ lease, transitions }) => {
    const w = await world(lease);
    await elector(w).acquire(forever);
    expect(spec(w)).toMatchObject({ holderIdentity: "one", leaseTransitions: transitions });
  });

  it("of another is taken only after 15 s without a change by our own clock, however old its times are", async () => {
    const w = await world({ ...held, renewTime: "2020-01-01T00:00:00.000000Z" });
    const seen = acquiring(w, elector(w));
    await until(() => seen.at !== undefined, { clock: w.clock, stepMs: 100 });
    expect(seen.at).toBeGreaterThanOrEqual(15_000);
    expect(seen.at).toBeLessThanOrEqual(18_000);
    expect(spec(w)).toMatchObject({
      holderIdentity: "one",
      leaseTransitions: 5,
      acquireTime: expect.stringMatching(/^2026-03-01/),
    });
  });

  it("of another replica that keeps renewing is not taken, regardless of its timestamps", async () => {
    const w = await world(held);
    const seen = acquiring(w, elector(w));
    for (let renewals = 0; renewals < 10; renewals++) {
      const before = w.api.requests.length;
      await until(() => w.api.requests.length > before + 1, { clock: w.clock, stepMs: 200 });
      const object = w.store.objects.get(PATH) as Stored;
      w.store.put(PATH, object);
    }
    expect(w.clock.monotonic() - 1_000_000).toBeGreaterThan(18_000);
    expect(seen.at).toBeUndefined();
  });

  it("goes to one of two that want it at once", async () => {
    const w = await world();
    const leaders = [elector(w, "one"), elector(w, "two")];
    const seen = leaders.map((leader) => acquiring(w, leader));
    await until(() => seen.some(({ at }) => at !== undefined), { clock: w.clock, stepMs: 10 });
    await w.clock.advance(5_000);
    expect(leaders.filter((leader) => leader.surelyHeld())).toHaveLength(1);
  });

  it("is not waited for any more once that is aborted", async () => {
    const w = await world(held);
    const stop = new AbortController();
    const acquired = elector(w).acquire(stop.signal);
    await until(() => w.clock.timers() === 1);
    stop.abort(new Error("stopped"));
    await expect(acquired).rejects.toThrow("stopped");
  });
});

describe("the holder", () => {
  async function leading(): Promise<World & { leader: LeaseElector }> {
    const w = await world();
    const leader = elector(w);
    await leader.acquire(forever);
    return { ...w, leader };
  }

  it("renews every 2 s and keeps what it acquired", async () => {
    const w = await leading();
    const before = spec(w)["renewTime"];
    await until(() => w.store.writes.length >= 8, { clock: w.clock, stepMs: 250 });
    expect(spec(w)["renewTime"]).not.toBe(before);
    expect(spec(w)).toMatchObject({ acquireTime: before, leaseTransitions: 0 });
    expect([w.leader.surelyHeld(), w.leader.lost.aborted]).toEqual([true, false]);
  });

  it("renews with one request", async () => {
    const w = await leading();
    const [requests, writes] = [w.api.requests.length, w.store.writes.length];
    await until(() => w.store.writes.length >= writes + 5, { clock: w.clock, stepMs: 250 });
    expect(w.api.requests.slice(requests).map(({ method }) => method)).toEqual(["PUT", "PUT", "PUT", "PUT", "PUT"]);
  });

  it("reads the lease again when its version has changed, and keeps it", async () => {
    const w = await leading();
    const [object, writes] = [w.store.objects.get(PATH) as Stored, w.store.writes.length];
    w.store.put(PATH, { ...object, spec: { ...spec(w), leaseTransitions: 7 } });
    await until(() => w.store.writes.length > writes, { clock: w.clock, stepMs: 250 });
    expect(spec(w)).toMatchObject({ holderIdentity: "one", leaseTransitions: 7 });
    expect(w.leader.lost.aborted).toBe(false);
  });

  it("makes a lease again that was deleted", async () => {
    const w = await leading();
    w.store.objects.delete(PATH);
    await until(() => w.store.objects.has(PATH), { clock: w.clock, stepMs: 250 });
    expect(spec(w)).toMatchObject({ holderIdentity: "one" });
    expect(w.leader.lost.aborted).toBe(false);
  });

  it("counts as holding it surely for 10 s after the last renewal, by its own clock", async () => {
    const w = await leading();
    w.api.answer(() => failure(500, "InternalError"));
    await w.clock.advance(9_999);
    expect(w.leader.surelyHeld()).toBe(true);
    await w.clock.advance(1);
    expect(w.leader.surelyHeld()).toBe(false);
  });

  it("does not count as holding it after its machine was suspended, although its monotonic clock stood still", async () => {
    const w = await leading();
    w.clock.setWallClock(10_000);
    expect([w.leader.surelyHeld(), w.leader.lost.aborted]).toEqual([false, false]);
    await until(() => w.leader.surelyHeld(), { clock: w.clock, stepMs: 250 });
    w.clock.setWallClock(-3_600_000);
    expect(w.leader.surelyHeld()).toBe(true);
  });

  it("has lost it after 10 s without a renewal", async () => {
    const w = await leading();
    const before = w.clock.monotonic();
    w.api.answer(() => failure(500, "InternalError"));
    await until(() => w.leader.lost.aborted, { clock: w.clock, stepMs: 100 });
    const after = w.clock.monotonic() - before;
    expect(after).toBeGreaterThanOrEqual(10_000);
    expect(after).toBeLessThan(15_000);
    expect(String(w.leader.lost.reason)).toContain("lease mooring/mooring lost: it could not be renewed");
    expect(w.told).toEqual([true, false]);
  });

  it("has lost it at once when another holds it", async () => {
    const w = await leading();
    const object = w.store.objects.get(PATH) as Stored;
    w.store.put(PATH, { ...object, spec: { ...spec(w), holderIdentity: "other" } });
    await until(() => w.leader.lost.aborted, { clock: w.clock, stepMs: 250 });
    expect(String(w.leader.lost.reason)).toContain("lost to other");
    expect(w.leader.surelyHeld()).toBe(false);
  });

  it("has lost it when another process has ended it, although nobody holds it", async () => {
    const w = await leading();
    const object = w.store.objects.get(PATH) as Stored;
    w.store.put(PATH, { ...object, spec: { ...spec(w), holderIdentity: "" } });
    await until(() => w.leader.lost.aborted, { clock: w.clock, stepMs: 250 });
    expect(String(w.leader.lost.reason)).toContain("lost: another process has ended it");
    expect(spec(w)).toMatchObject({ holderIdentity: "" });
  });

  it("shows annotations with it, and keeps those of others", async () => {
    const w = await leading();
    const object = w.store.objects.get(PATH) as Stored;
    w.store.put(PATH, { ...object, metadata: { ...object.metadata, annotations: { other: "1" } } });
    await w.leader.annotate({ "mooring.dev/note": "2" });
    const annotations = () => w.store.objects.get(PATH)?.metadata.annotations;
    expect(annotations()).toEqual({ other: "1", "mooring.dev/note": "2" });
    const before = w.store.writes.length;
    await until(() => w.store.writes.length > before + 1, { clock: w.clock, stepMs: 250 });
    expect(annotations()).toEqual(w.leader.annotations());
    expect(w.leader.annotations()).toEqual({ other: "1", "mooring.dev/note": "2" });
  });

  it("lives through a failed renewal", async () => {
    const w = await leading();
    let failures = 0;
    w.api.answer((request) => (failures++ < 3 ? failure(500, "InternalError") : w.store.script(request)));
    const before = w.store.writes.length;
    await until(() => w.store.writes.length > before + 1, { clock: w.clock, stepMs: 250 });
    expect([w.leader.surelyHeld(), w.leader.lost.aborted]).toEqual([true, false]);
  });

  it("gives it up, so that another takes it at once", async () => {
    const w = await leading();
    await w.leader.release();
    expect(spec(w)).toMatchObject({ holderIdentity: "", leaseDurationSeconds: 1 });
    expect(w.told).toEqual([true, false]);
    const seen = acquiring(w, elector(w, "two"));
    await until(() => seen.at !== undefined, w);
    expect(spec(w)).toMatchObject({ holderIdentity: "two", leaseTransitions: 1 });
  });

  it("does not count as holding it from the moment that it gives it up", async () => {
    const w = await leading();
    const held: boolean[] = [];
    w.api.answer((request) => {
      held.push(w.leader.surelyHeld());
      return w.store.script(request);
    });
    const release = w.leader.release();
    expect(w.leader.surelyHeld()).toBe(false);
    await release;
    expect([held, w.leader.surelyHeld()]).toEqual([[false], false]);
  });

  it("gives it up although a renewal takes effect meanwhile, whose response does not arrive", async () => {
    const w = await leading();
    const before = w.api.requests.length;
    w.api.answer((request) => {
      const answer = w.store.script(request);
      return w.api.requests.length === before + 1 ? "silence" : answer;
    });
    await until(() => w.api.requests.length > before, { clock: w.clock, stepMs: 250 });
    expect(spec(w)).toMatchObject({ holderIdentity: "one" });
    await released(w, w.leader);
    expect(spec(w)).toMatchObject({ holderIdentity: "" });
  });

  it.each<{ name: string; answer: Answer }>([
    { name: "is refused", answer: failure(500, "InternalError") },
    { name: "breaks off", answer: "cut" },
    { name: "is not answered", answer: "silence" },
  ])("gives it up again when the first request $name", async ({ answer }) => {
    const w = await leading();
    const before = w.api.requests.length;
    w.api.answer((request) => (w.api.requests.length === before + 1 ? answer : w.store.script(request)));
    await released(w, w.leader);
    expect(spec(w)).toMatchObject({ holderIdentity: "" });
  });

  it("ends within 10 s when the API server is away, and leaves the lease to run out", async () => {
    const w = await leading();
    const before = w.clock.monotonic();
    w.api.answer(() => failure(500, "InternalError"));
    await released(w, w.leader);
    expect(w.clock.monotonic() - before).toBeLessThanOrEqual(10_000);
    expect(spec(w)).toMatchObject({ holderIdentity: "one" });
  });

  it("gives up nothing that another process has taken meanwhile", async () => {
    const w = await leading();
    const object = w.store.objects.get(PATH) as Stored;
    w.store.put(PATH, { ...object, spec: { ...spec(w), holderIdentity: "other" } });
    await released(w, w.leader);
    expect(spec(w)).toMatchObject({ holderIdentity: "other" });
  });

  it("gives up a lease that it has taken without knowing: the response was lost", async () => {
    const w = await world({ ...held, holderIdentity: "" });
    w.api.answer((request) => {
      const answer = w.store.script(request);
      return request.method === "PUT" && w.store.writes.length === 2 ? "cut" : answer;
    });
    const stop = new AbortController();
    const leader = elector(w);
    const acquired = leader.acquire(stop.signal);
    await until(() => w.store.writes.length === 2 && w.clock.timers() === 1);
    stop.abort(new Error("stopped"));
    await expect(acquired).rejects.toThrow("stopped");
    expect(spec(w)).toMatchObject({ holderIdentity: "one" });
    await released(w, leader);
    expect(spec(w)).toMatchObject({ holderIdentity: "" });
  });

  it("leaves the lease alone when it has lost it", async () => {
    const w = await leading();
    const object = w.store.objects.get(PATH) as Stored;
    w.store.put(PATH, { ...object, spec: { ...spec(w), holderIdentity: "other" } });
    await until(() => w.leader.lost.aborted, { clock: w.clock, stepMs: 250 });
    await w.leader.release();
    expect(spec(w)).toMatchObject({ holderIdentity: "other" });
  });
});

describe("a request that must not be sent twice", () => {
  it("is not sent unless the lease is surely held", () => {
    expect(() => assertSurelyHeld({ surelyHeld: () => false })).toThrow(
      "the lease is not surely held: nothing is sent",
    );
  });

  it.each([
    ["while the lease is held", { surelyHeld: () => true }],
    ["without leader election", undefined],
  ])("is sent %s", (_name, elector) => {
    expect(() => assertSurelyHeld(elector)).not.toThrow();
  });
});
