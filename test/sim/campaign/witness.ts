import { type AnyObject, condition } from "../../support/world.ts";
import type { Stage } from "../stage/stage.ts";
import { DONE, FAILED, objectOf, phaseOf, RUNNING, readTruth, type Truth, taskOf } from "./truth.ts";

/**
 * What a status says and the service does not. `learns`: what has to happen before the status must be right. `List`: a list of
 * endpoints. `Poll`: a poll of this task. `Nothing`: the status claims what was read before.
 */
export type Contradiction = { text: string; learns: "Nothing" | "List" | { taskID: string } };

type Options = {
  sweepMs: number;
  /** Since when an operator works, ms since the beginning; undefined: none does. */
  upSince(): number | undefined;
};

/** The longest pause between two polls of a young task, with jitter: 10 s and a tenth. A failed poll shortens it. */
const POLL_PAUSE_MS = 11_000;
/** A failed list is repeated after this time. */
const LIST_RETRY_MS = 10_000;
/** So many polls in a row that fail, of any task, open the circuit breaker, for this time with jitter. */
const FAILURES = 5;
const BREAK_MS = 12_000;
/** From a response to the status that shows it. */
const WRITE_MS = 1_000;
const LOOK_MS = 500;

/** When a contradiction was first found, and how many lists had failed by then. */
type Found = { from: number; failedLists: number };

/** Compares both sides twice a second, and reports what contradicts itself for longer than a sweep while an operator works. */
export function createWitness(stage: Stage, { sweepMs, upSince }: Options): { stop(): Promise<string[]> } {
  const known = new Map<string, Found>();
  const reported = new Map<string, string>();
  const { now } = stage.scheduler;
  let stopped = false;

  async function look(): Promise<void> {
    const truth = await readTruth(stage);
    const contradictions = new Map([...contradictionsIn(truth, stage.service.now())].map((one) => [one.text, one]));
    for (const text of known.keys()) if (!contradictions.has(text)) known.delete(text);
    const up = upSince();
    for (const [text, { learns }] of contradictions) {
      const found = known.get(text) ?? { from: now(), failedLists: failedLists() };
      known.set(text, found);
      if (up === undefined || reported.has(text)) continue;
      const from = Math.max(found.from, up);
      if (now() > latestAt(learns, { ...found, from })) {
        reported.set(text, `${text} (from ${found.from} to ${now()} ms, with an operator since ${up})`);
      }
    }
  }

  const failedLists = () => stage.logged('"msg":"endpoints could not be listed"');

  /**
   * When the status must be right: one sweep after the service has shown the operator that it is wrong. The operator must have
   * asked by the end of the pause that its pace promises.
   */
  function latestAt(learns: Contradiction["learns"], found: Found): number {
    if (learns === "Nothing") return found.from;
    const shownMs = sweepMs + WRITE_MS;
    if (learns !== "List") return polledBy(stage, learns.taskID, found.from) + shownMs;
    return found.from + sweepMs + (failedLists() - found.failedLists) * LIST_RETRY_MS + shownMs;
  }

  const looking = (async () => {
    for (; !stopped; await stage.pass(LOOK_MS)) await look();
  })();
  return {
    async stop() {
      stopped = true;
      await looking;
      return [...reported.values()];
    },
  };
}

/** When the operator knew the state that the task has had since `from`, or when it had to ask again: ms since the beginning. */
function polledBy({ service, scheduler }: Stage, taskID: string, from: number): number {
  const epoch = service.now() - scheduler.now();
  let failures = 0;
  let pausedUntil = 0;
  let last = from;
  for (const { time, query, status, fault } of service.audit.list({ operation: "getTaskResult" })) {
    const at = Date.parse(time) - epoch;
    const isShown = status === 200 && fault === undefined;
    failures = isShown ? 0 : failures + 1;
    if (failures >= FAILURES) pausedUntil = at + BREAK_MS;
    if (query["task_id"] !== taskID) continue;
    if (isShown && at >= from) return at;
    last = Math.max(last, at);
  }
  return Math.max(last, pausedUntil) + POLL_PAUSE_MS;
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
