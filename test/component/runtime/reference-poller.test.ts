import { describe, expect, it, onTestFinished } from "vitest";
import { createPace } from "../../../src/base/token-bucket.ts";
import { KubeError } from "../../../src/kube/errors.ts";
import type { Place, Resource } from "../../../src/kube/resource.ts";
import { secretResource } from "../../../src/kube/resource.ts";
import type { KubeObject } from "../../../src/kube/types.ts";
import { createReferencePoller, type Reference } from "../../../src/runtime/reference-poller.ts";
import { createFakeClock, until } from "../../support/fake-clock.ts";
import { type Answer, failure, scriptedApi, silentLog } from "../../support/scripted-api-server.ts";
import { storedMeta } from "../../support/stored-meta.ts";

const secret = (version: number): Answer => ({
  body: { metadata: { name: "key", namespace: "team", uid: "u", resourceVersion: String(version) } },
});
const reference = { resource: secretResource, namespace: "team", name: "key" };

async function world(answer: Answer = secret(1), perSecond = 10) {
  const clock = createFakeClock();
  const changed: string[] = [];
  const api = await scriptedApi(() => answer);
  const poller = createReferencePoller({
    client: api.client,
    clock,
    intervalMs: 20_000,
    pace: createPace(clock, perSecond),
    log: silentLog,
    onChange: (key) => changed.push(key),
  });
  onTestFinished(() => poller.stop());
  const round = async (count: number) => {
    await until(() => api.requests.length === count && clock.timers() === 1);
  };
  return { clock, changed, api, poller, round };
}

it("reads each referenced object once an interval, however many refer to it", async () => {
  const w = await world();
  for (let index = 0; index < 100; index++) w.poller.track(`e-${index}`, [reference, reference]);
  w.poller.start();
  await w.round(1);
  await w.clock.advance(20_000);
  await w.round(2);
  expect(w.poller.size()).toBe(1);
  expect(
    w.api.requests.every(({ method, path }) => method === "GET" && path.endsWith("/namespaces/team/secrets/key")),
  ).toBe(true);
});

it("notifies dependants at the first read, at a change, and when the object disappears or appears; not otherwise", async () => {
  const w = await world();
  w.poller.track("a", [reference]);
  w.poller.start();
  await w.round(1);
  expect(w.changed).toEqual(["a"]);
  await w.clock.advance(20_000);
  await w.round(2);
  expect(w.changed).toEqual(["a"]);
  w.api.answer(() => secret(2));
  await w.clock.advance(20_000);
  await w.round(3);
  w.api.answer(() => failure(404, "NotFound"));
  await w.clock.advance(20_000);
  await w.round(4);
  await w.clock.advance(20_000);
  await w.round(5);
  w.api.answer(() => secret(3));
  await w.clock.advance(20_000);
  await w.round(6);
  expect(w.changed).toEqual(["a", "a", "a", "a"]);
});

it("a failing API server is no change", async () => {
  const w = await world();
  w.poller.track("a", [reference]);
  w.poller.start();
  await w.round(1);
  w.api.answer(() => failure(500, "InternalError"));
  await w.clock.advance(20_000);
  await w.round(2);
  expect(w.changed).toEqual(["a"]);
});

it("an object without references is no longer read", async () => {
  const w = await world();
  w.poller.track("a", [reference]);
  w.poller.track("b", [reference]);
  w.poller.track("a", []);
  expect(w.poller.size()).toBe(1);
  w.poller.forget("b");
  expect(w.poller.size()).toBe(0);
  w.poller.start();
  await w.clock.advance(60_000);
  expect(w.api.requests).toEqual([]);
});

/** Secrets `s-0` to `s-(count - 1)` of a namespace. */
function secretsIn(namespace: string, count: number): Reference[] {
  return Array.from({ length: count }, (_, index) => ({ resource: secretResource, namespace, name: `s-${index}` }));
}

/** Two pollers with a budget of 10 reads a second, over an API server that answers at once. */
function readsWorld() {
  const clock = createFakeClock();
  const began = clock.monotonic();
  const absent = new Set<string>();
  /** The time of each read, ms since the beginning. */
  const reads: { id: string; at: number }[] = [];
  const changed: string[] = [];
  async function get(_resource: Resource, { namespace = "", name = "" }: Place): Promise<KubeObject> {
    const id = `${namespace}/${name}`;
    reads.push({ id, at: clock.monotonic() - began });
    if (absent.has(id)) throw new KubeError("not found", { status: 404, reason: "NotFound" });
    return { apiVersion: "v1", kind: "Secret", metadata: storedMeta({ namespace, name }), spec: {} };
  }
  const pace = createPace(clock, 10);
  const options = { client: { get }, clock, pace, log: silentLog, onChange: (key: string) => changed.push(key) };
  const poller = createReferencePoller({ ...options, intervalMs: 20_000 });
  const other = createReferencePoller({ ...options, intervalMs: 60_000 });
  onTestFinished(async () => {
    await Promise.all([poller.stop(), other.stop()]);
  });
  const timesOf = (id: string) => reads.filter((one) => one.id === id).map(({ at }) => at);
  return { clock, poller, other, reads, timesOf, absent, changed };
}

/** The longest time between two neighbors. */
const longestGap = (times: readonly number[]) =>
  Math.max(...times.slice(1).map((at, index) => at - (times[index] ?? 0)));

describe("with a budget of 10 reads a second", () => {
  it("100 objects are each read once an interval", async () => {
    const w = readsWorld();
    w.poller.track("a", secretsIn("team", 100));
    w.poller.start();
    await w.clock.advance(99_000);
    for (const { name } of secretsIn("team", 100)) {
      const times = w.timesOf(`team/${name}`);
      expect(times).toHaveLength(5);
      expect(longestGap(times)).toBeLessThanOrEqual(21_000);
    }
  });

  it("10,000 objects of two pollers cost 10 reads a second, and each is read once before any is read again", async () => {
    const w = readsWorld();
    w.poller.track("a", secretsIn("team", 5_000));
    w.other.track("a", secretsIn("exports", 5_000));
    w.poller.start();
    w.other.start();
    await w.clock.advance(990_000);
    expect(w.reads.length).toBeGreaterThan(9_890);
    expect(w.reads.length).toBeLessThanOrEqual(9_901);
    for (let second = 0; second < 990; second++) {
      const inSecond = w.reads.filter(({ at }) => at >= second * 1_000 && at < (second + 1) * 1_000);
      expect(inSecond.length).toBeLessThanOrEqual(10);
    }
    expect(new Set(w.reads.map(({ id }) => id)).size).toBe(w.reads.length);
    expect(w.poller.oldestReadMs()).toBeGreaterThan(900_000);
  });

  it("a namespace with few objects keeps the interval beside one with thousands", async () => {
    const w = readsWorld();
    w.poller.track("many", secretsIn("many", 5_000));
    w.poller.track("few", secretsIn("few", 3));
    w.poller.start();
    await w.clock.advance(200_000);
    expect(longestGap(w.timesOf("few/s-0"))).toBeLessThanOrEqual(21_000);
  });

  it("an object that does not exist, and one that an object waits for, keep the interval beside thousands of the namespace", async () => {
    const w = readsWorld();
    w.poller.track("many", secretsIn("team", 5_000));
    w.poller.track("stalled", [{ resource: secretResource, namespace: "team", name: "no-such-key" }], { waits: true });
    w.absent.add("team/s-1");
    w.poller.start();
    await w.clock.advance(200_000);
    expect(longestGap(w.timesOf("team/no-such-key"))).toBeLessThanOrEqual(21_000);
    expect(longestGap(w.timesOf("team/s-1"))).toBeLessThanOrEqual(21_000);

    w.poller.track("stalled", []);
    const readsBefore = w.timesOf("team/no-such-key").length;
    await w.clock.advance(60_000);
    expect(w.timesOf("team/no-such-key")).toHaveLength(readsBefore);
  });

  it("thousands that objects wait for leave a quarter of the reads to the others", async () => {
    const w = readsWorld();
    w.poller.track("stalled", secretsIn("broken", 5_000), { waits: true });
    w.poller.track("fine", secretsIn("team", 10));
    w.poller.start();
    await w.clock.advance(100_000);
    expect(longestGap(w.timesOf("team/s-0"))).toBeLessThanOrEqual(21_000);
  });

  it("an object that nobody waits for any more loses its place before the others", async () => {
    const w = readsWorld();
    w.poller.track("many", secretsIn("team", 1_000));
    const [first] = secretsIn("team", 1);
    w.poller.track("one", first === undefined ? [] : [first], { waits: true });
    w.poller.start();
    await w.clock.advance(45_000);
    expect(w.timesOf("team/s-0")).toHaveLength(3);
    w.poller.track("one", first === undefined ? [] : [first]);
    await w.clock.advance(45_000);
    expect(w.timesOf("team/s-0")).toHaveLength(3);
  });
});
