import { describe, expect, it } from "vitest";
import { createIndexSet, parseRanges, rangesOf } from "../../../../src/controllers/batch/index-set.ts";
import {
  type ChildState,
  type Observation,
  type Progress,
  planBatch,
  progressAfter,
} from "../../../../src/controllers/batch/plan.ts";

type Shown = Partial<Record<keyof Progress, string>>;
type Given = Partial<Omit<Observation, "progress" | "children">> & {
  progress?: Shown;
  children?: Record<number, ChildState>;
};

const progressOf = ({ completed = "", failed = "", active = "", creating = "" }: Shown): Progress => ({
  completed: parseRanges(completed),
  failed: parseRanges(failed),
  active: parseRanges(active),
  creating: parseRanges(creating),
});

function planOf({ progress = {}, children = {}, ...given }: Given) {
  return planBatch({
    total: 10,
    parallelism: 3,
    maxFailedIndexes: undefined,
    maxHaltedIndexes: 2,
    suspended: false,
    pastDeadline: false,
    progress: progressOf(progress),
    children: new Map(Object.entries(children).map(([index, state]) => [Number(index), state])),
    ...given,
  });
}

const NOTHING: ReturnType<typeof planBatch> = {
  record: { completed: [], failed: [], started: [], adopted: [], seen: [] },
  missing: [],
  remove: [],
  create: [],
  stopped: undefined,
  ended: false,
};
const record = (change: Partial<ReturnType<typeof planBatch>["record"]>) => ({ ...NOTHING.record, ...change });

describe("what a batch does next", () => {
  it.each<{ title: string; given: Given; plan: Partial<ReturnType<typeof planBatch>> }>([
    {
      title: "a new batch starts `parallelism` items",
      given: {},
      plan: { record: record({ started: [0, 1, 2] }), create: [0, 1, 2] },
    },
    {
      title: "a short one starts all",
      given: { total: 2 },
      plan: { record: record({ started: [0, 1] }), create: [0, 1] },
    },
    { title: "a suspended one starts none", given: { suspended: true }, plan: {} },
    {
      title: "a suspended one does not create jobs that were recorded before",
      given: { suspended: true, progress: { active: "0-2", creating: "1-2" }, children: { 0: "Unfinished" } },
      plan: {},
    },
    {
      title: "running items keep their places",
      given: { progress: { active: "0-2" }, children: { 0: "Unfinished", 1: "Unfinished", 2: "Unfinished" } },
      plan: {},
    },
    {
      title: "a halted item gives its place to the next one",
      given: { progress: { active: "0-2" }, children: { 0: "Unfinished", 1: "Halted", 2: "Unfinished" } },
      plan: { record: record({ started: [3] }), create: [3] },
    },
    {
      title: "as many halted items as allowed: the others go on",
      given: { progress: { active: "0-3" }, children: { 0: "Halted", 1: "Halted", 2: "Unfinished", 3: "Unfinished" } },
      plan: { record: record({ started: [4] }), create: [4] },
    },
    {
      title: "more halted items than allowed: no further one starts, and those that run go on",
      given: { progress: { active: "0-3" }, children: { 0: "Halted", 1: "Halted", 2: "Halted", 3: "Unfinished" } },
      plan: {},
    },
    {
      title: "halted items keep the batch from its end",
      given: { total: 2, progress: { completed: "0", active: "1" }, children: { 1: "Halted" } },
      plan: {},
    },
    {
      title: "items that were halted and run again need their places",
      given: {
        progress: { active: "0-4" },
        children: { 0: "Unfinished", 1: "Unfinished", 2: "Unfinished", 3: "Unfinished", 4: "Succeeded" },
      },
      plan: { record: record({ completed: [4] }), remove: [4] },
    },
    {
      title: "a finished item is recorded and removed, and the next one takes its place",
      given: { progress: { active: "0-2" }, children: { 0: "Succeeded", 1: "Failed", 2: "Unfinished" } },
      plan: { record: record({ completed: [0], failed: [1], started: [3, 4] }), remove: [0, 1], create: [3, 4] },
    },
    {
      title: "a job that is recorded and still exists has its place",
      given: {
        progress: { completed: "0", active: "1-2" },
        children: { 0: "Succeeded", 1: "Unfinished", 2: "Unfinished" },
      },
      plan: { remove: [0] },
    },
    {
      title: "after a restart, a job that may not exist is created, and no other",
      given: {
        progress: { completed: "0", active: "1-3", creating: "2-3" },
        children: { 1: "Unfinished", 3: "Unfinished" },
      },
      plan: { record: record({ seen: [3] }), create: [2] },
    },
    {
      title: "a job that was seen and is not there is missing, and never created",
      given: { progress: { active: "0-2" }, children: { 0: "Unfinished" } },
      plan: { missing: [1, 2] },
    },
    {
      title: "a job that a user deletes failed",
      given: { total: 3, progress: { active: "0-2" }, children: { 0: "Deleted", 1: "Unfinished", 2: "Unfinished" } },
      plan: { record: record({ failed: [0] }), remove: [0] },
    },
    {
      title: "a job that the status does not know takes its index and its place",
      given: { progress: { completed: "0", active: "1" }, children: { 1: "Unfinished", 3: "Unfinished" } },
      plan: { record: record({ adopted: [3], started: [2] }), create: [2] },
    },
    {
      title: "more failed items than allowed: no further one starts, and those that run go on",
      given: {
        maxFailedIndexes: 1,
        progress: { failed: "0", active: "1-2" },
        children: { 1: "Failed", 2: "Unfinished" },
      },
      plan: { record: record({ failed: [1] }), remove: [1], stopped: "MaxFailedIndexesExceeded" },
    },
    {
      title: "as many failed items as allowed: the others go on",
      given: { maxFailedIndexes: 1, parallelism: 1, progress: { failed: "0" } },
      plan: { record: record({ started: [1] }), create: [1] },
    },
    {
      title: "past its deadline, it ends when nothing runs any more",
      given: { pastDeadline: true, progress: { completed: "0", active: "1" }, children: { 1: "Succeeded" } },
      plan: { record: record({ completed: [1] }), remove: [1], stopped: "DeadlineExceeded", ended: true },
    },
    {
      title: "past its deadline, a missing job is looked for before it ends",
      given: { pastDeadline: true, progress: { active: "0" } },
      plan: { missing: [0], stopped: "DeadlineExceeded" },
    },
    {
      title: "it ends with its last item",
      given: { total: 2, progress: { failed: "0", active: "1" }, children: { 0: "Failed", 1: "Succeeded" } },
      plan: { record: record({ completed: [1] }), remove: [0, 1], ended: true },
    },
    {
      title: "a lower parallelism takes no place away",
      given: {
        parallelism: 1,
        progress: { active: "0-2" },
        children: { 0: "Succeeded", 1: "Unfinished", 2: "Unfinished" },
      },
      plan: { record: record({ completed: [0] }), remove: [0] },
    },
  ])("$title", ({ given, plan }) => {
    expect(planOf(given)).toEqual({ ...NOTHING, ...plan });
  });

  it("the progress after a plan has what the plan recorded", () => {
    const before = progressOf({ completed: "0", active: "1-5", creating: "4-5" });
    const changes = { record: { completed: [1], failed: [2], started: [6, 7], adopted: [9], seen: [4] } };
    const after = progressAfter(before, changes, [3]);
    expect(Object.fromEntries(Object.entries(after).map(([field, set]) => [field, rangesOf(set)]))).toEqual({
      completed: "0-1",
      failed: "2-3",
      active: "4-7,9",
      creating: "5-7",
    });
    expect(rangesOf(before.active)).toBe("1-5");
  });
});

/** A small generator of numbers from 0 to 1, so that a failure can be repeated. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}

/**
 * An API server, and a view of it that may lag. A job that a user deletes stays until the batch removes it. Some jobs halt, and a user
 * decides about them later, or never while others run.
 */
function runWorld(seed: number) {
  const random = randomOf(seed);
  const total = 1 + Math.floor(random() * 12);
  const parallelism = 1 + Math.floor(random() * 4);
  const maxHaltedIndexes = Math.floor(random() * 4);
  const jobs = new Map<number, ChildState>();
  const created = new Map<number, number>();
  let view = new Map<number, ChildState>();
  let progress = progressOf({});
  let ended = false;
  let most = 0;
  /** Most jobs that were never halted. */
  let mostFirst = 0;
  const halted = new Set<number>();

  const crashes = () => random() < 0.15;
  function reconcile(): void {
    const plan = planBatch({
      ...{ total, parallelism, maxFailedIndexes: undefined, maxHaltedIndexes },
      ...{ suspended: random() < 0.1, pastDeadline: false },
      ...{ progress, children: view },
    });
    const gone = plan.missing.filter((index) => !jobs.has(index));
    if (crashes()) return;
    progress = progressAfter(progress, plan, gone);
    for (const index of plan.remove) {
      if (crashes()) return;
      jobs.delete(index);
    }
    for (const index of plan.create) {
      if (crashes()) return;
      if (jobs.has(index)) continue;
      jobs.set(index, "Unfinished");
      created.set(index, (created.get(index) ?? 0) + 1);
      most = Math.max(most, jobs.size);
      mostFirst = Math.max(mostFirst, [...jobs.keys()].filter((one) => !halted.has(one)).length);
    }
    ended = plan.ended && gone.length === 0;
  }
  function live(): void {
    for (const [index, state] of jobs) {
      if (state !== "Unfinished" && state !== "Halted") continue;
      const fate = random();
      if (fate < 0.3) jobs.set(index, "Succeeded");
      else if (fate < 0.4) jobs.set(index, "Failed");
      else if (fate < 0.5) jobs.set(index, "Deleted");
      else if (fate < 0.6 && state === "Unfinished") {
        jobs.set(index, "Halted");
        halted.add(index);
      } else if (fate < 0.65) jobs.set(index, "Unfinished");
    }
  }
  for (let step = 0; step < 2_000 && !ended; step++) {
    if (random() < 0.5) live();
    // A view never goes back in time, and shows nothing that is not written yet.
    if (random() < 0.7) view = new Map(jobs);
    reconcile();
  }
  return { total, parallelism, maxHaltedIndexes, created, progress, ended, most, mostFirst };
}

it("whenever a process dies and however its view lags, each item has one job, in 500 random worlds", () => {
  for (let seed = 1; seed <= 500; seed++) {
    const { total, parallelism, maxHaltedIndexes, created, progress, ended, most, mostFirst } = runWorld(seed);
    const all = createIndexSet(Array.from({ length: total }, (_, index) => index));
    expect({ seed, ended, created: [...created.values()].every((times) => times === 1) }).toEqual({
      seed,
      ended: true,
      created: true,
    });
    expect(rangesOf(createIndexSet([...progress.completed.values(), ...progress.failed.values()]))).toBe(rangesOf(all));
    expect(mostFirst).toBeLessThanOrEqual(parallelism);
    expect(most).toBeLessThanOrEqual(parallelism + maxHaltedIndexes);
  }
});
