import { expect, it } from "vitest";
import { createBatch, createObject } from "./scenario/actions.ts";
import type { ObjectPlan } from "./scenario/objects.ts";
import type { BatchPlan, Plan } from "./scenario/plan.ts";
import { createWorld } from "./scenario/world.ts";

const READY_MS = 60_000;
const DONE_MS = 240_000;

/** The writes of objects and events that an operator makes until all objects are ready or finished, by method and resource. */
async function writesOf(objects: readonly ObjectPlan[], batches: readonly BatchPlan[] = []): Promise<string[]> {
  const plan: Plan = {
    seed: 1,
    replicas: 1,
    spares: 0,
    streamingLists: true,
    generation: "Current",
    listDelayMs: 0,
    duplicateAppName: "Refuse",
    maxConcurrentTasks: undefined,
    budgetTasks: undefined,
    objects: [...objects],
    batches,
    actions: [],
    faults: [],
    chaosMs: READY_MS + DONE_MS,
  };
  const writes: string[] = [];
  const onTrace = (line: string) => {
    const [, of, method = "", path = ""] = line.split(" ");
    // The account is written whether or not it has objects, and the lease as well.
    const isOwn = /\/(leases|clusteraccounts)\//.test(path);
    if (of === "api" && method !== "GET" && !isOwn) writes.push(`${method} ${path}`);
  };
  const world = createWorld(plan, { onTrace });
  world.replicas.start();
  await world.scheduler.run(READY_MS, () => false);
  const atStart = writes.length;
  for (const object of objects) createObject(world, object);
  for (const batch of batches) createBatch(world, batch);
  await world.scheduler.run(plan.chaosMs, () => false);
  world.replicas.end();
  expect(world.judge.first()).toBeUndefined();
  return writes.slice(atStart);
}

/** `most`: as many as with the journal that this protocol replaced, for one object alone and for each of twenty. */
it.each([
  { kind: "GpuEndpoint", synchronous: false, most: [6, 4.75] },
  { kind: "VideoJob", synchronous: false, most: [9, 9.7] },
  { kind: "SpeechJob", synchronous: false, most: [9, 9.7] },
  { kind: "SpeechJob", synchronous: true, most: [5, 5] },
] as const)(
  "a $kind (synchronous: $synchronous) takes at most $most API writes",
  async ({ kind, synchronous, most }) => {
    for (const [index, count] of [1, 20].entries()) {
      const writes = await writesOf(
        Array.from({ length: count }, (_, serial): ObjectPlan => {
          return { serial, kind, namespace: "team-a", name: `object-${serial}`, at: READY_MS, synchronous };
        }),
      );
      const summary = Object.groupBy(writes, (line) => line.replace(/object-\d+/, "NAME"));
      const shown = Object.entries(summary).map(([line, all = []]) => `${all.length} ${line}`);
      expect(writes.length / count, shown.join("\n")).toBeLessThanOrEqual(most[index] ?? 0);
    }
  },
);

/** `most`: of an item, its part of the writes of its batch and events included. */
it.each([
  { kind: "VideoJob", synchronous: false, most: 6 },
  { kind: "SpeechJob", synchronous: false, most: 6 },
  { kind: "SpeechJob", synchronous: true, most: 4.5 },
] as const)(
  "an item of a batch of 80 $kind (synchronous: $synchronous) takes at most $most API writes",
  async ({ kind, synchronous, most }) => {
    const serials = Array.from({ length: 80 }, (_, at) => 1_000 + at);
    const of = { namespace: "team-a", name: "book", at: READY_MS, parallelism: 20, reuse: false };
    const writes = await writesOf([], [{ ...of, kind, synchronous, serials }]);
    const summary = Object.groupBy(writes, (line) => line.replace(/book-\d+/, "NAME"));
    const shown = Object.entries(summary).map(([line, all = []]) => `${all.length} ${line}`);
    expect(writes.filter((line) => line.startsWith("DELETE"))).toHaveLength(serials.length);
    expect(writes.length / serials.length, shown.join("\n")).toBeLessThanOrEqual(most);
  },
);
