import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../../clock.ts";
import { createFairQueue } from "../../fair-queue.ts";
import { createSchedule } from "../../schedule.ts";
import type { ServiceClient } from "../client.ts";
import { ServiceError } from "../errors.ts";
import type { PollFailure, TaskObservation, Tasks } from "../types.ts";
import { createPace, FIRST_MS, nextPollMs, type Pace } from "./pace.ts";

/**
 * Polls an account's tasks. Groups take turns. Within a group, the task that is overdue longest comes first, so a low rate
 * limit slows all of them alike. A failed poll is repeated later.
 */
export type TaskPoller = Tasks & { start(): void };

export type TaskPollerOptions = {
  client: Pick<ServiceClient, "getTaskResult">;
  clock: Clock;
  random: () => number;
  /**
   * A poll shows a change that a user would notice: status, results, or progress by 10 points or after 15 s. Or the polls
   * have failed for a minute, fail for another reason, or succeed again.
   */
  onChange: (taskID: string) => void;
  onError: (error: unknown) => void;
};

type Followed = {
  taskID: string;
  group: Group;
  submittedAt: number;
  due: number;
  failures: number;
  latest: TaskObservation | undefined;
  /** The observation of the last `onChange`. */
  told: TaskObservation | undefined;
  failing: Failing | undefined;
};

/** `tasks`: how many tasks it has. */
type Group = { name: string; pace: Pace; tasks: number };

/** Polls that fail, one after the other. `from`: monotonic ms. `told`: what `onChange` was called for. */
type Failing = PollFailure & { from: number; told: "NotFound" | "Other" | undefined };

const PROGRESS_POINTS = 10;
const PROGRESS_MS = 15_000;
/** Failures are shown when they have lasted this long. Most end sooner. */
const SHOW_FAILING_MS = 60_000;
/** Polls in progress. The rate limit is the real bound; as many submissions may wait for it. */
const CONCURRENCY = 16;

export function createTaskPoller(options: TaskPollerOptions): TaskPoller {
  const { clock } = options;
  const tasks = new Map<string, Followed>();
  const groups = new Map<string, Group>();
  /** Tasks whose poll is due, by task ID. */
  const ready = createFairQueue<Followed>();
  const ended = new AbortController();
  const polls = new Set<Promise<void>>();
  const waiting = createSchedule<Followed>(clock, (due) => {
    for (const { item: task, due: at } of due) {
      const outdated = tasks.get(task.taskID) !== task || task.due !== at;
      if (!outdated && ready.get(task.taskID) === undefined) ready.push(task.group.name, task.taskID, task);
    }
    pump();
  });
  let started = false;

  function schedule(task: Followed, inMs: number): void {
    task.due = clock.monotonic() + inMs * (0.9 + 0.2 * options.random());
    waiting.add(task, task.due);
  }

  function pump(): void {
    if (!started || ended.signal.aborted) return;
    while (polls.size < CONCURRENCY) {
      const task = ready.shift()?.value;
      if (task === undefined) break;
      task.group.pace.polledLate(clock.monotonic() - task.due);
      const poll = pollOnce(task).finally(() => {
        polls.delete(poll);
        pump();
      });
      polls.add(poll);
    }
  }

  async function pollOnce(task: Followed): Promise<void> {
    try {
      const result = await options.client.getTaskResult({ taskID: task.taskID }, { signal: ended.signal });
      const recovers = task.failing?.told !== undefined;
      task.failures = 0;
      task.failing = undefined;
      task.latest = { result, at: clock.now() };
      if (recovers || isNoticeable(task.told, task.latest)) {
        task.told = task.latest;
        options.onChange(task.taskID);
      }
    } catch (error) {
      if (ended.signal.aborted) return;
      task.failures++;
      if (!(error instanceof ServiceError)) throw error;
      options.onError(error);
      recordFailure(task, error);
    }
    if (tasks.get(task.taskID) === task) schedule(task, nextPollMs(task, clock.now(), task.group.pace.stretch()));
  }

  function recordFailure(task: Followed, error: ServiceError): void {
    const failing: Failing = task.failing ?? { since: clock.now(), from: clock.monotonic(), error, told: undefined };
    failing.error = error;
    task.failing = failing;
    const kind = error.kind === "NotFound" ? "NotFound" : "Other";
    if (!isShown(failing) || failing.told === kind) return;
    failing.told = kind;
    options.onChange(task.taskID);
  }

  function isShown({ from }: Failing): boolean {
    return clock.monotonic() - from >= SHOW_FAILING_MS;
  }

  return {
    follow(taskID, submittedAt, name) {
      if (tasks.has(taskID)) return;
      const group = groups.get(name) ?? { name, pace: createPace(), tasks: 0 };
      groups.set(name, group);
      group.tasks++;
      const unpolled = { due: 0, failures: 0, latest: undefined, told: undefined, failing: undefined };
      const task: Followed = { taskID, group, submittedAt, ...unpolled };
      tasks.set(taskID, task);
      // A new task is first polled after 3 s. Older tasks (after a restart) are spread over the same time.
      const age = clock.now() - submittedAt;
      schedule(task, age < FIRST_MS ? FIRST_MS - age : FIRST_MS * options.random());
    },
    forget(taskID) {
      const group = tasks.get(taskID)?.group;
      if (group === undefined) return;
      tasks.delete(taskID);
      ready.remove(taskID);
      group.tasks--;
      if (group.tasks === 0) groups.delete(group.name);
    },
    pollNow(taskID) {
      const task = tasks.get(taskID);
      if (task !== undefined) schedule(task, 0);
    },
    latest: (taskID) => tasks.get(taskID)?.latest,
    failing(taskID) {
      const failing = tasks.get(taskID)?.failing;
      return failing !== undefined && isShown(failing) ? { since: failing.since, error: failing.error } : undefined;
    },
    async read(taskID, signal) {
      const result = await options.client.getTaskResult({ taskID }, { signal });
      return { result, at: clock.now() };
    },
    inFlight: () => tasks.size,
    start() {
      started = true;
      pump();
    },
    async stop() {
      ended.abort(new Error("the session of the account is closed"));
      waiting.stop();
      await Promise.all(polls);
    },
  };
}

export function isNoticeable(told: TaskObservation | undefined, latest: TaskObservation): boolean {
  if (told === undefined) return true;
  const [before, after] = [told.result, latest.result];
  if (before.task.status !== after.task.status || before.task.reason !== after.task.reason) return true;
  if (!isDeepStrictEqual([before.audios, before.videos, before.images], [after.audios, after.videos, after.images])) {
    return true;
  }
  const points = Math.abs((after.task.progressPercent ?? 0) - (before.task.progressPercent ?? 0));
  return points >= PROGRESS_POINTS || (points > 0 && latest.at - told.at >= PROGRESS_MS);
}
