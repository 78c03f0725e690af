import { describe, expect, it, onTestFinished } from "vitest";
import { createMembers, type Members, type MembersOptions } from "../../../src/runtime/members.ts";
import { createFakeClock, type FakeClock, until } from "../../support/fake-clock.ts";
import { createObjectStore, type ObjectStore, type Stored } from "../../support/object-store.ts";
import { type Answer, failure, instantApi, silentLog } from "../../support/scripted-api-server.ts";

const LEASES = "/apis/coordination.k8s.io/v1/namespaces/mooring/leases";
const forever = new AbortController().signal;
const STEP = { stepMs: 100 };

type World = { api: ReturnType<typeof instantApi>; store: ObjectStore; clock: FakeClock };

function world(): World {
  const store = createObjectStore();
  return { store, api: instantApi(store.script), clock: createFakeClock() };
}

function memberOf(w: World, name = "one", options: Partial<MembersOptions> = {}): Members {
  const members = createMembers({
    client: w.api.client,
    namespace: "mooring",
    name,
    clock: w.clock,
    log: silentLog,
    ...options,
  });
  onTestFinished(() => left(w, members));
  return members;
}

async function joined(w: World, name = "one", options: Partial<MembersOptions> = {}): Promise<Members> {
  const members = memberOf(w, name, options);
  await members.join(forever);
  return members;
}

/** Leaves while time goes on. */
async function left({ clock }: World, members: Members): Promise<void> {
  let ended = false;
  void members.leave().then(() => {
    ended = true;
  });
  await until(() => ended, { clock, ...STEP });
}

const leaseOf = ({ store }: World, name = "one") => store.objects.get(`${LEASES}/${name}`);
const spec = (w: World, name = "one") => (leaseOf(w, name)?.spec ?? {}) as Record<string, unknown>;
const change = (w: World, object: Partial<Stored>, name = "one") =>
  w.store.put(`${LEASES}/${name}`, { ...(leaseOf(w, name) as Stored), ...object });
const renewals = (w: World, name = "one") => w.store.writes.filter(({ path }) => path === `${LEASES}/${name}`).length;
const names = (members: Members) => members.list().map(({ name }) => name);
/** The lease of another process, as it was written last. */
const put = (
  w: World,
  name: string,
  { acquireTime = "2026-02-28T00:00:00.000000Z", holder = name, ready = true } = {},
) =>
  w.store.put(`${LEASES}/${name}`, {
    metadata: { name, namespace: "mooring", annotations: { "mooring.dev/ready": String(ready) } },
    spec: { holderIdentity: holder, leaseDurationSeconds: 15, acquireTime, renewTime: "2020-01-01T00:00:00.000000Z" },
  });

describe("the lease of a process", () => {
  it("has its name, labels by which others find it, and is renewed every 2 s with one request", async () => {
    const w = world();
    const members = memberOf(w);
    expect(members.surelyHeld()).toBe(false);
    await members.join(forever);
    expect(leaseOf(w)).toMatchObject({
      metadata: { labels: { "app.kubernetes.io/managed-by": "mooring", "app.kubernetes.io/component": "operator" } },
      spec: { holderIdentity: "one", leaseDurationSeconds: 15, acquireTime: "2026-03-01T00:00:00.000000Z" },
    });
    expect([members.surelyHeld(), names(members)]).toEqual([true, ["one"]]);
    const before = w.api.requests.length;
    await until(() => renewals(w) >= 6, { clock: w.clock, ...STEP });
    const writes = w.api.requests.slice(before).filter(({ method }) => method !== "GET");
    expect(new Set(writes.map(({ method }) => method))).toEqual(new Set(["PUT"]));
    expect(spec(w)).toMatchObject({ acquireTime: "2026-03-01T00:00:00.000000Z" });
    expect(w.clock.now() - Date.parse("2026-03-01T00:00:00Z")).toBeGreaterThanOrEqual(9_000);
  });

  it("is made although the response to the first write is lost", async () => {
    const w = world();
    w.api.answer((request) => {
      const answer = w.store.script(request);
      return request.method === "POST" && renewals(w) === 1 && w.api.requests.length === 1 ? "cut" : answer;
    });
    const members = memberOf(w);
    let ended = false;
    void members.join(forever).then(() => {
      ended = true;
    });
    await until(() => ended, { clock: w.clock, ...STEP });
    expect(members.surelyHeld()).toBe(true);
  });

  it("is not waited for when others have ended it before a response to its first write came", async () => {
    const w = world();
    const cut = new Set<string>();
    w.api.answer((request) => {
      const answer = w.store.script(request);
      if (request.method === "GET" || cut.has(request.method)) return answer;
      cut.add(request.method);
      if (request.method === "PUT") w.store.objects.delete(`${LEASES}/one`);
      return "cut";
    });
    const members = memberOf(w);
    let failed: unknown;
    members.join(forever).catch((error: unknown) => {
      failed = error;
    });
    await until(() => failed !== undefined, { clock: w.clock, ...STEP });
    expect(String(failed)).toContain("lease mooring/one was ended or deleted");
  });

  it("is not surely held 10 s after the last renewal, by the monotonic clock, and is when a renewal succeeds later", async () => {
    const w = world();
    const members = await joined(w);
    w.api.answer(() => failure(500, "InternalError"));
    await w.clock.advance(9_999);
    expect(members.surelyHeld()).toBe(true);
    await w.clock.advance(1);
    expect(members.surelyHeld()).toBe(false);
    w.api.answer(w.store.script);
    await until(members.surelyHeld, { clock: w.clock, ...STEP });
    expect(members.lost.aborted).toBe(false);
  });

  it("is not surely held after its machine was suspended, although its monotonic clock stood still", async () => {
    const w = world();
    const members = await joined(w);
    w.clock.setWallClock(10_000);
    expect(members.surelyHeld()).toBe(false);
    await until(members.surelyHeld, { clock: w.clock, ...STEP });
  });

  it.each<{ name: string; happens: (w: World) => void }>([
    { name: "another process has ended it", happens: (w) => change(w, { spec: { ...spec(w), holderIdentity: "" } }) },
    { name: "somebody deletes it", happens: (w) => void w.store.objects.delete(`${LEASES}/one`) },
  ])("is lost when $name", async ({ happens }) => {
    const w = world();
    const members = await joined(w);
    happens(w);
    await until(() => members.lost.aborted, { clock: w.clock, ...STEP });
    expect(String(members.lost.reason)).toContain("lease mooring/one was ended or deleted");
    expect(members.surelyHeld()).toBe(false);
    await members.leave();
    expect(spec(w)["holderIdentity"] ?? "").toBe("");
  });

  it("ends when its process leaves right after it became ready", async () => {
    const w = world();
    const members = await joined(w);
    members.setReady(true);
    await left(w, members);
    expect(spec(w)["holderIdentity"]).toBe("");
  });

  it("is kept when somebody changes its metadata", async () => {
    const w = world();
    const members = await joined(w);
    const { metadata } = leaseOf(w) as Stored;
    change(w, { metadata: { ...metadata, annotations: { other: "1" } } });
    const before = renewals(w);
    await until(() => renewals(w) > before, { clock: w.clock, ...STEP });
    expect(leaseOf(w)?.metadata.annotations).toEqual({ other: "1", "mooring.dev/ready": "false" });
    expect(members.lost.aborted).toBe(false);
  });

  it.each<{ name: string; answer: Answer }>([
    { name: "is refused", answer: failure(500, "InternalError") },
    { name: "breaks off", answer: "cut" },
    { name: "is not answered", answer: "silence" },
  ])("ends when its process leaves, although the first request $name", async ({ answer }) => {
    const w = world();
    const members = await joined(w);
    const before = w.api.requests.length;
    w.api.answer((request) => (w.api.requests.length === before + 1 ? answer : w.store.script(request)));
    await left(w, members);
    expect(spec(w)).toMatchObject({ holderIdentity: "" });
    expect(members.surelyHeld()).toBe(false);
  });

  it("runs out when the API server is away while its process leaves", async () => {
    const w = world();
    const members = await joined(w);
    const before = w.clock.monotonic();
    w.api.answer(() => failure(500, "InternalError"));
    await left(w, members);
    expect(w.clock.monotonic() - before).toBeLessThanOrEqual(10_000);
    expect(spec(w)).toMatchObject({ holderIdentity: "one" });
  });
});

describe("another process", () => {
  it("lives while it renews its lease, however old the times in it are", async () => {
    const w = world();
    const members = await joined(w);
    put(w, "two");
    for (let renewal = 0; renewal < 12; renewal++) {
      await w.clock.advance(2_000);
      await until(() => names(members).includes("two"), { clock: w.clock, ...STEP });
      put(w, "two");
    }
    expect([members.hasEnded("two"), spec(w, "two")["holderIdentity"]]).toEqual([false, "two"]);
  });

  it("is ended by a write when its lease is unchanged for 15 s by the own clock, and not before", async () => {
    const w = world();
    const members = await joined(w);
    put(w, "two");
    await until(() => names(members).includes("two"), { clock: w.clock, ...STEP });
    const before = w.clock.monotonic();
    await until(() => members.hasEnded("two"), { clock: w.clock, ...STEP });
    const after = w.clock.monotonic() - before;
    expect(after).toBeGreaterThanOrEqual(14_500);
    expect(after).toBeLessThanOrEqual(17_500);
    expect(spec(w, "two")["holderIdentity"]).toBe("");
    expect(names(members)).toEqual(["one"]);
  });

  it("that was ended is known within half a second, also by a process that saw its last renewal later", async () => {
    const w = world();
    const first = await joined(w);
    put(w, "two");
    await until(() => names(first).includes("two"), { clock: w.clock, ...STEP });
    await w.clock.advance(3_000);
    const later = await joined(w, "later");
    await until(() => first.hasEnded("two"), { clock: w.clock, ...STEP });
    const before = w.clock.monotonic();
    await until(() => later.hasEnded("two"), { clock: w.clock, ...STEP });
    expect(w.clock.monotonic() - before).toBeLessThanOrEqual(600);
  });

  it("that renews in the last moment is not ended: the write has the version as the lock", async () => {
    const w = world();
    const members = await joined(w);
    put(w, "two");
    w.api.answer((request) => {
      if (request.method === "PUT" && request.path.endsWith("/two")) put(w, "two");
      return w.store.script(request);
    });
    await until(() => w.store.writes.filter(({ path }) => path.endsWith("/two")).length > 1, {
      clock: w.clock,
      ...STEP,
    });
    await w.clock.advance(4_000);
    expect([members.hasEnded("two"), spec(w, "two")["holderIdentity"]]).toEqual([false, "two"]);
  });

  it("has ended at once when its lease has no holder, and the lease is deleted after 10 minutes", async () => {
    const w = world();
    const members = await joined(w);
    put(w, "two", { holder: "" });
    await until(() => members.hasEnded("two"), { clock: w.clock, stepMs: 50 });
    await until(() => leaseOf(w, "two") === undefined, { clock: w.clock, stepMs: 1_000 });
    expect(w.clock.monotonic() - 1_000_000).toBeGreaterThanOrEqual(600_000);
  });

  it("has ended when its lease is missing for 15 s", async () => {
    const w = world();
    const members = await joined(w);
    const before = w.clock.monotonic();
    await until(() => members.hasEnded("gone"), { clock: w.clock, ...STEP });
    expect(w.clock.monotonic() - before).toBeGreaterThanOrEqual(15_000);
    expect(w.clock.monotonic() - before).toBeLessThanOrEqual(20_000);
  });

  it("is not ended while the leases cannot be read", async () => {
    const w = world();
    const members = await joined(w);
    put(w, "two");
    await until(() => names(members).includes("two"), { clock: w.clock, ...STEP });
    w.api.answer((request) => (request.method === "GET" ? failure(500, "InternalError") : w.store.script(request)));
    await w.clock.advance(60_000);
    expect([members.hasEnded("two"), members.hasEnded("gone")]).toEqual([false, false]);
  });

  it("tells who listens when it comes, becomes ready and ends", async () => {
    const w = world();
    const members = await joined(w);
    const told: string[] = [];
    members.onChange(() => told.push(JSON.stringify(members.list().map(({ name, ready }) => [name, ready]))));
    put(w, "two", { ready: false });
    await until(() => told.length === 1, { clock: w.clock, ...STEP });
    put(w, "two");
    await until(() => told.length === 2, { clock: w.clock, ...STEP });
    put(w, "two", { holder: "" });
    await until(() => told.length === 3, { clock: w.clock, ...STEP });
    const own = ["one", false];
    expect(told.map((text) => JSON.parse(text))).toEqual([[["two", false], own], [["two", true], own], [own]]);
  });
});

describe("the first process", () => {
  it.each([
    { name: "the oldest ready one", since: "2026-02-28T00:00:00.000000Z", ready: true, isFirst: false },
    {
      name: "not one that has not read all objects",
      since: "2026-02-28T00:00:00.000000Z",
      ready: false,
      isFirst: true,
    },
    { name: "not a younger one", since: "2026-03-02T00:00:00.000000Z", ready: true, isFirst: true },
  ])("is $name", async ({ since, ready, isFirst }) => {
    const w = world();
    put(w, "two", { acquireTime: since, ready });
    const members = await joined(w);
    expect(members.isFirst()).toBe(false);
    members.setReady(true);
    expect(members.isFirst()).toBe(isFirst);
    await until(() => members.list().some(({ name, ready }) => name === "one" && ready), { clock: w.clock, ...STEP });
    expect(members.isFirst()).toBe(isFirst);
  });
});
