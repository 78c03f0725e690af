import { describe, expect, it } from "vitest";
import { getCondition } from "../../../../src/api/v1alpha1/conditions.ts";
import type { MediaBatchStatus } from "../../../../src/api/v1alpha1/media-batch.ts";
import { batchWorld } from "./batch-world.ts";

const inline = (count: number) => ({
  items: { inline: Array.from({ length: count }, (_, at) => ({ text: `page ${at}.` })) },
});
const stored = {
  phase: "Succeeded",
  results: [{ kind: "Audio", type: "mp3", artifact: { uri: "u", bytes: 1, sha256: "a" } }],
} as const;
type World = ReturnType<typeof batchWorld>;

type End = (world: World, name: string) => void;

/** Reconciles, and ends each job that may send, until a status is as wanted. */
async function runUntil(world: World, end: End, isWanted: (status: MediaBatchStatus) => boolean): Promise<void> {
  for (let round = 0; round < 200; round++) {
    await world.reconcile();
    const { status } = world.batch();
    if (status !== undefined && isWanted(status)) return;
    for (const { metadata } of world.running()) end(world, metadata.name);
  }
  throw new Error(`it did not come to that: ${JSON.stringify(world.batch().status)}`);
}
const runToEnd = (world: World, end: End) =>
  runUntil(world, end, ({ phase }) => phase === "Succeeded" || phase === "Failed");
const runToDecision = (world: World, end: End) =>
  runUntil(world, end, ({ conditions }) => getCondition(conditions, "Stalled")?.reason === "JobsHalted");
const halt: End = (world, name) => world.end(name, { phase: "Halted", attempts: 1 });
const succeed = (world: World, name: string) =>
  world.end(name, { ...stored, results: [...stored.results], estimatedCost: "0.5" });
const linesOf = (world: World) =>
  (world.files.get("book/index.jsonl") ?? "")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

describe("a batch", () => {
  it("makes one job for each item, at most parallelism at a time, and ends with a list of them", async () => {
    const world = batchWorld({ ...inline(20), parallelism: 3 });
    await runToEnd(world, succeed);
    expect(world.most()).toBe(3);
    expect(world.jobs()).toEqual([]);
    expect(world.writes.filter((write) => write.startsWith("create")).sort()).toEqual(
      Array.from({ length: 20 }, (_, at) => `create book-${at}`).sort(),
    );
    expect(world.batch().status).toMatchObject({
      phase: "Succeeded",
      progress: "20/20",
      completedIndexes: "0-19",
      costSoFar: "10",
      index: { uri: "memory://book/index.jsonl" },
    });
    expect(linesOf(world).map(({ index, key }) => [index, key])).toEqual(
      Array.from({ length: 20 }, (_, at) => [at, `book/${String(at).padStart(6, "0")}.mp3`]),
    );
    expect(world.writes.length / 20).toBeLessThanOrEqual(4);
  });

  it("goes on until activeDeadlineSeconds have passed, and then starts no more and fails", async () => {
    const world = batchWorld({ ...inline(4), parallelism: 1, activeDeadlineSeconds: 3_600 });
    await runUntil(world, succeed, ({ succeeded }) => succeeded === 1);
    expect(world.batch().status?.phase).toBe("Running");
    await world.reconcile(3_600_000);
    await runToEnd(world, succeed);
    const { phase, succeeded = 0, conditions } = world.batch().status ?? { conditions: [] };
    expect([phase, getCondition(conditions, "Failed")?.reason]).toEqual(["Failed", "DeadlineExceeded"]);
    expect(succeeded).toBeLessThan(4);
  });

  it("lets no job send before its status shows that the job exists", async () => {
    const world = batchWorld(inline(2));
    await world.reconcile();
    expect(world.jobs()).toEqual([]);
    await world.reconcile();
    expect(world.writes).toEqual(["status book", "status book", "create book-0", "create book-1", "status book"]);
    expect(world.running()).toHaveLength(2);
    expect(world.batch().status).toMatchObject({ activeIndexes: "0-1" });
    expect(world.batch().status?.creatingIndexes).toBeUndefined();
  });

  it("removes the parts of its list when index.jsonl has all lines", async () => {
    const world = batchWorld({ ...inline(20), parallelism: 3 });
    await runToEnd(world, succeed);
    expect(world.partsOf()).not.toEqual([]);
    await world.reconcile();
    expect(world.partsOf()).toEqual([]);
    expect(world.batch().status?.parts).toBeUndefined();
    expect(linesOf(world)).toHaveLength(20);
    const before = world.writes.length;
    await world.reconcile();
    expect(world.writes).toHaveLength(before);
  });

  it("that has ended observes a changed spec", async () => {
    const world = batchWorld(inline(2));
    await runToEnd(world, succeed);
    await world.reconcile();
    const { metadata, spec, ...others } = world.batch();
    const changed = { ...spec, ttlSecondsAfterFinished: 86_400 };
    world.put("mediabatches", { ...others, metadata: { ...metadata, generation: 2 }, spec: changed });
    await world.reconcile();
    const { status } = world.batch();
    expect([status?.observedGeneration, status?.conditions.map((one) => one.observedGeneration)]).toEqual([
      2,
      status?.conditions.map(() => 2),
    ]);
    expect(status).toMatchObject({ phase: "Succeeded", progress: "2/2" });
    const before = world.writes.length;
    await world.reconcile();
    expect(world.writes).toHaveLength(before);
  });

  it("that is deleted before its end leaves no parts", async () => {
    const world = batchWorld({ ...inline(20), parallelism: 3 });
    await world.reconcile();
    await world.reconcile();
    for (const { metadata } of world.running()) succeed(world, metadata.name);
    await world.reconcile();
    expect(world.partsOf()).not.toEqual([]);
    await world.removeBatch();
    expect(world.partsOf()).toEqual([]);
  });

  it.each(["Before", "After"] as const)(
    "whose process is killed %s any of its requests has one job and one line for each item, and no parts in the end",
    async (moment) => {
      let kills = 0;
      for (let at = 1; ; at++) {
        const world = batchWorld({ ...inline(3), parallelism: 2 }, { at, moment });
        let wasKilled = false;
        for (let round = 0; round < 60; round++) {
          await world.reconcile(3_000).catch((error: unknown) => {
            if (!world.isDead()) throw error;
            wasKilled = true;
            world.restart();
          });
          for (const { metadata } of world.running()) succeed(world, metadata.name);
        }
        expect({ at, phase: world.batch().status?.phase, parts: world.partsOf() }).toEqual({
          at,
          phase: "Succeeded",
          parts: [],
        });
        expect(linesOf(world).map(({ index, key }) => [index, key !== undefined])).toEqual(
          [0, 1, 2].map((index) => [index, true]),
        );
        expect(world.writes.filter((write) => write.startsWith("create")).length).toBeLessThanOrEqual(4);
        if (!wasKilled) break;
        kills++;
      }
      expect(kills).toBeGreaterThan(15);
    },
  );

  it.each([
    [
      "of turbo speech has the audio in the response: its job needs no copy",
      { speech: { model: "speech-2.6-turbo" } },
      "hex",
    ],
    ["of other speech has what its model can", { speech: { model: "speech-2.6-hd" } }, undefined],
    ["has the format of the template", { speech: { model: "speech-2.6-turbo", outputFormat: "url" } }, "url"],
  ] as const)("an item %s", async (_, template, expected) => {
    const voiceSetting = { voiceID: "announcer" };
    const world = batchWorld({ ...inline(1), template: { speech: { ...template.speech, voiceSetting } } });
    await world.reconcile();
    await world.reconcile();
    expect(world.jobs().map(({ spec }) => Reflect.get(spec, "outputFormat"))).toEqual([expected]);
  });

  it("goes on after restarts at any time, without a second job for an item", async () => {
    const world = batchWorld({ ...inline(15), parallelism: 4 });
    let ends = 0;
    await runToEnd(world, (one, name) => {
      if (ends++ % 3 === 0) one.restart();
      succeed(one, name);
    });
    expect(world.writes.filter((write) => write.startsWith("create"))).toHaveLength(15);
    expect(linesOf(world)).toHaveLength(15);
  });

  it("counts a job that a user deletes as failed, and does not make it again", async () => {
    const world = batchWorld(inline(3));
    await world.reconcile();
    await world.reconcile();
    world.remove("book-1");
    await world.reconcile(11_000);
    await runToEnd(world, succeed);
    expect(world.batch().status).toMatchObject({ phase: "Failed", failedIndexes: "1", completedIndexes: "0,2" });
    expect(getCondition(world.batch().status?.conditions, "Failed")?.reason).toBe("FailedIndexes");
    expect(world.writes.filter((write) => write === "create book-1")).toHaveLength(1);
    expect(linesOf(world)[1]).toMatchObject({ index: 1, error: "the job was deleted" });
  });

  it("starts no more items when more failed than maxFailedIndexes allows, and withdraws jobs that have sent nothing", async () => {
    const world = batchWorld({ ...inline(10), parallelism: 2, maxFailedIndexes: 0 });
    await world.reconcile();
    await world.reconcile();
    world.end("book-0", { phase: "Failed" });
    await runToEnd(world, () => {});
    expect(world.batch().status).toMatchObject({ phase: "Failed", failedIndexes: "0-1" });
    expect(getCondition(world.batch().status?.conditions, "Failed")?.reason).toBe("MaxFailedIndexesExceeded");
  });

  it("shows an object that has the name of one of its jobs, and goes on when it is gone", async () => {
    const world = batchWorld(inline(2));
    world.put("speechjobs", { kind: "SpeechJob", metadata: { name: "book-1", namespace: "team" }, spec: {} });
    await world.reconcile();
    await world.reconcile();
    const stalled = getCondition(world.batch().status?.conditions, "Stalled");
    expect(stalled).toMatchObject({
      reason: "JobNameTaken",
      message: expect.stringContaining("SpeechJob team/book-1 exists"),
    });
    world.remove("book-1");
    await runToEnd(world, succeed);
    expect(world.batch().status).toMatchObject({ phase: "Succeeded", progress: "2/2" });
  });

  it("waits for a decision when only halted jobs are left, and goes on after it", async () => {
    const world = batchWorld(inline(2));
    await world.reconcile();
    await world.reconcile();
    world.end("book-0", { phase: "Halted", attempts: 1 });
    succeed(world, "book-1");
    await world.reconcile();
    expect(getCondition(world.batch().status?.conditions, "Stalled")?.reason).toBe("JobsHalted");
    expect(world.batch().status).toMatchObject({ halted: 1, active: 1, progress: "1/2" });
    succeed(world, "book-0");
    await runToEnd(world, succeed);
    expect(world.batch().status).toMatchObject({ phase: "Succeeded", halted: 0 });
  });

  const decide = "decide for all of them with mooring resolve mediabatch/book -n team";
  it("whose jobs halt starts the other items, and asks for one decision about all of them at the end", async () => {
    const world = batchWorld({ ...inline(30), parallelism: 3, maxHaltedIndexes: 20 });
    const isEven = (name: string) => Number(name.slice("book-".length)) % 2 === 0;
    await runToDecision(world, (one, name) => (isEven(name) ? halt : succeed)(one, name));
    const stalled = getCondition(world.batch().status?.conditions, "Stalled");
    expect(stalled).toMatchObject({ reason: "JobsHalted", message: expect.stringContaining(decide) });
    expect(stalled?.message).not.toContain("not started");
    expect(world.batch().status).toMatchObject({ halted: 15, active: 15, progress: "15/30" });
    for (const { metadata } of world.jobs()) world.remove(metadata.name); // as --give-up
    await runToEnd(world, halt);
    expect(world.batch().status).toMatchObject({ phase: "Failed", succeeded: 15, failed: 15 });
  });

  it("starts no more items when more jobs are halted than maxHaltedIndexes allows, and goes on after the decision", async () => {
    const world = batchWorld({ ...inline(30), parallelism: 3, maxHaltedIndexes: 4 });
    await runToDecision(world, halt);
    const halted = world.jobs().length;
    expect(halted).toBeGreaterThan(4);
    expect(halted).toBeLessThanOrEqual(4 + 3);
    const message = getCondition(world.batch().status?.conditions, "Stalled")?.message;
    expect(message).toContain(
      `${halted} wait for a decision; ${30 - halted} are not started, because maxHaltedIndexes is 4`,
    );
    for (const { metadata } of world.jobs()) succeed(world, metadata.name);
    await runToEnd(world, succeed);
    expect(world.batch().status).toMatchObject({ phase: "Succeeded", progress: "30/30" });
  });

  it("lists ten of many bad items, and says how many more there are", async () => {
    const world = batchWorld({ items: { inline: Array.from({ length: 13 }, () => ({ txt: "bad" })) } });
    await world.reconcile();
    await world.reconcile();
    const message = getCondition(world.batch().status?.conditions, "Stalled")?.message;
    expect(message?.match(/line \d+/g)).toEqual(Array.from({ length: 10 }, (_, index) => `line ${index + 1}`));
    expect(message).toContain("; and 3 more");
  });

  it("sends nothing while an item is bad, and lists what is wrong", async () => {
    const items = {
      inline: [{ text: "good" }, { txt: "bad" }, { text: "bad", output: {} }, { text: "x".repeat(10_000) }],
    };
    const world = batchWorld({ items });
    await world.reconcile();
    await world.reconcile();
    const stalled = getCondition(world.batch().status?.conditions, "Stalled");
    expect(stalled).toMatchObject({ reason: "InvalidItems" });
    expect(stalled?.message).toContain("line 2: txt: unknown field");
    expect(stalled?.message).toContain("line 3: output cannot differ between items");
    expect(stalled?.message).toContain("line 4: ");
    expect(world.jobs()).toEqual([]);
  });

  it("of items in a store stops when they change, and goes on when they are restored", async () => {
    const lines = (count: number) => Array.from({ length: count }, (_, at) => `{"text":"page ${at}."}`).join("\n");
    const object = { storeRef: { name: "results" }, key: "in.jsonl" };
    const world = batchWorld({ items: { inline: null, object }, parallelism: 5 });
    world.files.set("in.jsonl", lines(100));
    await world.reconcile();
    await world.reconcile();
    for (const { metadata } of world.running()) succeed(world, metadata.name);
    world.files.set("in.jsonl", lines(103));
    for (let round = 0; round < 30; round++) {
      await world.reconcile();
      for (const { metadata } of world.running()) succeed(world, metadata.name);
    }
    const stalled = getCondition(world.batch().status?.conditions, "Stalled");
    expect(stalled).toMatchObject({ reason: "ItemsChanged" });
    expect(stalled?.message).toContain("100 items");
    expect(stalled?.message).toContain("3 more");
    expect(world.jobs()).toEqual([]);
    world.files.set("in.jsonl", lines(100));
    await world.reconcile(31_000);
    await runToEnd(world, succeed);
    expect(world.batch().status).toMatchObject({ progress: "100/100" });
  });
});
