import { setTimeout as sleep } from "node:timers/promises";
import { isTooManyRequests, KubeError } from "../../../src/kube/errors.ts";
import { type AnyObject, condition, type World } from "../../support/world.ts";
import { createTrail, type Trail } from "./trail.ts";
import { DONE, FAILED, objectOf, phaseOf, RUNNING, readTruth, type Truth, taskOf } from "./truth.ts";

/** What the witness needs to know of the operators. Times in ms since the epoch. */
export type Operators = {
  /** Since when an operator works; undefined: none does. */
  upSince(): number | undefined;
  /** Lists of endpoints that failed so far. */
  failedLists(): number;
};

/**
 * What a status says and the service does not. `learns`: what has to happen before the status must be right. `List`: a list of
 * endpoints. `Poll`: a poll of this task. `Nothing`: the status claims what was read before.
 */
export type Contradiction = { text: string; learns: "Nothing" | "List" | { taskID: string } };

/** `slowestMs`: how long the slowest comparison took. `longestPauseMs`: the longest pause between two polls of one task. */
export type Testimony = { contradictions: string[]; slowestMs: number; longestPauseMs: number };

/** The longest pause between two polls of a young task, with jitter: 10 s and a tenth. A failed poll shortens it. */
const POLL_PAUSE_MS = 11_000;
/** A failed list is repeated after this time. */
const LIST_RETRY_MS = 10_000;

/**
 * When a contradiction was first found, how many lists had failed by then, and how long the slowest comparison since has taken:
 * on a busy machine, a status takes as long.
 */
type Found = { from: number; failedLists: number; slowestMs: number };

/** Compares both sides once a second, and reports what contradicts itself for longer than a sweep while an operator works. */
export function createWitness(
  world: World,
  { sweepMs, operators }: { sweepMs: number; operators: Operators },
): { stop(): Promise<Testimony> } {
  const known = new Map<string, Found>();
  const reported = new Map<string, string>();
  const trail = createTrail(world);
  let slowestMs = 0;
  let stopped = false;
  let failure: unknown;

  async function look(): Promise<void> {
    const startedAt = Date.now();
    const truth = await readTruth(world);
    const now = Date.now();
    await trail.read();
    const tookMs = Date.now() - startedAt;
    slowestMs = Math.max(slowestMs, tookMs);
    const contradictions = new Map([...contradictionsIn(truth, now)].map((one) => [one.text, one]));
    for (const text of known.keys()) if (!contradictions.has(text)) known.delete(text);
    const up = operators.upSince();
    for (const [text, { learns }] of contradictions) {
      const found = known.get(text) ?? { from: now, failedLists: operators.failedLists(), slowestMs: 0 };
      found.slowestMs = Math.max(found.slowestMs, tookMs);
      known.set(text, found);
      if (up === undefined || reported.has(text)) continue;
      const lastTime = latestAt(learns, { ...found, from: Math.max(found.from, up) });
      if (startedAt > lastTime) reported.set(text, `${text} ${timesOf(found, up, startedAt)}`);
    }
  }

  /**
   * When the status must be right: one sweep after the service has shown the operator that it is wrong. The operator must have
   * asked by the end of the pause that its pace promises.
   */
  function latestAt(learns: Contradiction["learns"], { from, failedLists, slowestMs }: Found): number {
    if (learns === "Nothing") return from;
    const shownMs = sweepMs + 2 * slowestMs;
    if (learns !== "List") return polledBy(trail, learns.taskID, from) + shownMs;
    return from + sweepMs + (operators.failedLists() - failedLists) * LIST_RETRY_MS + shownMs;
  }

  const looking = (async () => {
    while (!stopped) {
      await sleep(1_000);
      await look().catch((error: unknown) => {
        // The API server has just started, or the machine has other work: it refuses, or answers too late.
        const busy = isTooManyRequests(error) || (error instanceof KubeError && error.status === 0);
        if (!busy) failure ??= error;
      });
    }
  })();
  return {
    async stop() {
      stopped = true;
      await looking;
      if (failure !== undefined) throw failure;
      return { contradictions: [...reported.values()], slowestMs, longestPauseMs: trail.longestPauseMs() };
    },
  };
}

function timesOf({ from, slowestMs }: Found, up: number, now: number): string {
  const [first, working, last] = [from, up, now].map((time) => new Date(time).toISOString().slice(11, -1));
  return `(from ${first} to ${last}, with an operator since ${working}, comparisons of up to ${slowestMs} ms)`;
}

/** When the operator knew the state that the task has had since `from`, or when it had to ask again. */
function polledBy(trail: Trail, taskID: string, from: number): number {
  const shownAt = trail.shownAt(taskID, from);
  if (shownAt !== undefined) return shownAt;
  return Math.max(from, trail.polledAt(taskID) ?? from, trail.pausedUntil()) + POLL_PAUSE_MS;
}

export function* contradictionsIn(truth: Truth, now: number): Generator<Contradiction> {
  for (const object of truth.endpoints) yield* endpointContradictions(object, truth, now);
  const names = new Set(truth.endpoints.map(({ metadata }) => metadata.name));
  for (const remote of truth.remoteEndpoints.values()) {
    const gone = !names.has(objectOf(remote)) && remote.parameters.workerConfig.maxNum > 0;
    if (gone) yield { text: `${objectOf(remote)} is gone, and its endpoint runs`, learns: "Nothing" };
  }
  for (const job of truth.jobs) yield* jobContradictions(job, truth);
}

function* endpointContradictions(object: AnyObject, truth: Truth, now: number): Generator<Contradiction> {
  const { name, generation } = object.metadata;
  const [ready, synced] = [condition(object, "Ready"), condition(object, "Synced")];
  const remote = truth.remoteEndpoints.get(String(object.status?.["endpointID"]));
  const wanted = (object.spec["workers"] as { max: number }).max;
  const max = remote?.parameters.workerConfig.maxNum;
  const serves = remote !== undefined && remote.servesAtMs <= now;
  const judged = synced?.observedGeneration === generation ? synced?.status : undefined;
  const says = (text: string): Contradiction => ({ text: `${name} ${text}`, learns: "List" });
  if (ready?.status === "True" && remote === undefined) yield says("is Ready without an endpoint");
  else if (ready?.status === "True" && !serves) yield says("is Ready, and its endpoint does not serve");
  if (ready?.reason === "RemoteStateUnknown" && serves) yield says(`is not Ready, and its endpoint serves`);
  if (judged === "True" && max !== wanted) yield says(`is Synced with ${wanted} workers, and the service has ${max}`);
  if (judged === "False" && max === wanted) yield says(`is not Synced, and the service has its ${wanted} workers`);
}

function* jobContradictions(job: AnyObject, truth: Truth): Generator<Contradiction> {
  const taskID = taskOf(job);
  const phase = phaseOf(job);
  if (taskID === undefined || !["Queued", "Running", "Succeeded"].includes(phase)) return;
  const task = truth.remoteTasks.get(taskID);
  const text = `${job.metadata.name} is ${phase}, and its task ${task === undefined ? "does not exist" : `is ${task.status}`}`;
  if (task === undefined || (phase === "Succeeded" && task.status !== DONE)) yield { text, learns: "Nothing" };
  else if (phase !== "Succeeded" && [DONE, FAILED].includes(task.status)) yield { text, learns: { taskID } };
  else if (phase === "Queued" && task.status === RUNNING) yield { text, learns: { taskID } };
}
