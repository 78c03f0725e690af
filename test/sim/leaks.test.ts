import { setImmediate as settled } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { OPERATIONS } from "../../src/provider/operations.ts";
import { followHoldings } from "./engine/collections.ts";
import { CALM } from "./network/weather.ts";
import { createObject, performAction } from "./scenario/actions.ts";
import { objectOf } from "./scenario/manifests.ts";
import type { ObjectPlan } from "./scenario/objects.ts";
import { type Plan, planOf } from "./scenario/plan.ts";
import { createWorld } from "./scenario/world.ts";

const MINUTE_MS = 60_000;
/** Jobs end, and endpoints are Ready. */
const LIFE_MS = 5 * MINUTE_MS;
/** Requests fail before they take effect, so that no job is halted. */
const BAD_MS = 2 * MINUTE_MS;
const HARMLESS = ["throttled", "refused"] as const;
const LOOKS = 4;
const LOOK_MS = 3_370;
/** What is remembered for a while about objects that are gone is forgotten by then. */
const QUIET_MS = 40 * MINUTE_MS;
const WAVES = 3;
/**
 * The costs of a month name each object of the month. What is remembered of endpoints that are gone, and the texts of the last objects, have
 * limits of their own.
 */
const GROWS =
  /^src\/(controllers\/billing\/|base\/shared-texts\.ts (recent|earlier)$|provider\/endpoints\/endpoint-(memory\.ts memory|index\.ts missed( \(sum\))?)$)/;

/**
 * The recorder forgets what is old with the next event: it keeps what the events of one wave, not of two, left. Each leaves at most its series
 * and the bucket of its object.
 */
const RECORDER = "src/runtime/recorder.ts values";
const LEFT_BY_EVENT = 2;

/** An endpoint with Retain has no finalizer: its deletion is seen only as a key without an object. */
const POLICIES = ["Delete", "ScaleToZero", "Retain"] as const;

/** An operation whose last call failed has a circuit until a call of it works: at most one for each operation. */
const CIRCUITS = "src/provider/http/breaker.ts circuits";

/** Slots, bytes, and who waits for them. */
const RETURNS = /^src\/base\/(semaphore|fair-queue)\.ts /;

const objects: ObjectPlan[] = Array.from({ length: WAVES }, (_, wave) =>
  (["GpuEndpoint", "GpuEndpoint", "GpuEndpoint", "SpeechJob", "SpeechJob", "VideoJob", "VideoJob"] as const).map(
    (kind, index) => ({
      serial: wave * 100 + index,
      kind,
      namespace: index % 2 === 0 ? "team-a" : "team-b",
      name: `object-${wave}-${index}`,
      at: 0,
      ...(kind === "GpuEndpoint" ? { deletionPolicy: POLICIES[index] } : {}),
      ...(kind === "GpuEndpoint" ? {} : { stored: true }),
      ...(kind === "SpeechJob" && index % 2 === 0 ? { synchronous: true } : {}),
      ...(kind === "VideoJob" && index % 2 === 0 ? { fails: true } : {}),
    }),
  ),
).flat();

it("when every object is gone and quiet has returned, nothing of the operator has grown", async () => {
  const holdings = followHoldings();
  const plan: Plan = {
    ...planOf(1),
    replicas: 1,
    objects,
    batches: [],
    actions: [],
    faults: [],
    budgetTasks: undefined,
    maxConcurrentTasks: 4,
    duplicateAppName: "Accept",
  };
  const world = createWorld(plan);
  const { scheduler, replicas } = world;
  onTestFinished(async () => {
    replicas.end();
    await settled();
    holdings.stop();
  });
  const pass = (ms: number) => scheduler.run(scheduler.now() + ms, () => false);
  replicas.start();
  for (const { time } of replicas.running()) holdings.followTimers(time.clock);
  await pass(MINUTE_MS);

  /** The least and the most of some looks: what is held for a moment is not held at each of them. */
  async function look(): Promise<Record<"least" | "most", Record<string, number>>> {
    const looks = [holdings.now()];
    for (let i = 0; i < LOOKS; i++) {
      await pass(LOOK_MS);
      looks.push(holdings.now());
    }
    const sites = [...new Set(looks.flatMap(Object.keys))];
    const each = (choose: (...sizes: number[]) => number) =>
      Object.fromEntries(sites.map((site) => [site, choose(...looks.map((one) => one[site] ?? 0))]));
    return { least: each(Math.min), most: each(Math.max) };
  }
  const { least: start } = await look();
  const left: Awaited<ReturnType<typeof look>>[] = [];
  const events = () => world.storage.collection("events.events.k8s.io").objects.size;
  let eventsBefore = 0;
  for (let wave = 0; wave < WAVES; wave++) {
    eventsBefore = events();
    const own = objects.filter(({ serial }) => Math.floor(serial / 100) === wave);
    world.weather.service = { ...CALM, faults: 0.4, kinds: HARMLESS };
    for (const object of own) createObject(world, object);
    await pass(BAD_MS);
    world.weather.service = CALM;
    await pass(LIFE_MS);
    for (const object of own) expect(objectOf(world, object), object.name).toBeDefined();
    for (const { serial } of own) performAction(world, { do: "delete", serial });
    await pass(LIFE_MS);
    // An administrator removes the endpoints that are scaled to zero.
    for (const { serial } of own) for (const { id } of world.census.of(serial)) world.service.endpoints.delete(id);
    await pass(QUIET_MS);
    for (const object of own) expect(objectOf(world, object), object.name).toBeUndefined();
    left.push(await look());
  }
  const [before = {}, after = {}] = [left[1]?.most, left[2]?.least];
  const limits: Record<string, number> = {
    [CIRCUITS]: Object.keys(OPERATIONS).length,
    [RECORDER]: (events() - eventsBefore) * LEFT_BY_EVENT,
  };
  expect(limits[RECORDER], "of one wave, less than all events").toBeLessThan(events());
  const limitOf = (site: string) => limits[site] ?? before[site] ?? 0;
  const grown = Object.entries(after).filter(([site, size]) => size > limitOf(site) && !GROWS.test(site));
  expect(Object.values(after).filter((size) => size > 0).length).toBeGreaterThan(10);
  expect(Object.keys(after).filter((site) => /\((listener|timer)\)$/.test(site)).length).toBeGreaterThan(3);
  const kept = Object.entries(after).filter(([site, size]) => RETURNS.test(site) && size !== (start[site] ?? 0));
  expect(kept.map(([site, size]) => `${site}: ${start[site] ?? 0} at the start, then ${size}`)).toEqual([]);
  expect(grown.map(([site, size]) => `${site}: ${before[site] ?? 0}, then ${size}`)).toEqual([]);
});
