import { isDeepStrictEqual } from "node:util";
import TinyQueue from "tinyqueue";
import type { Clock } from "../../clock.ts";
import type { ServiceClient } from "../client.ts";
import { ServiceError } from "../errors.ts";
import type { TaskObservation, Tasks } from "../types.ts";
import { createPace, FIRST_MS, nextPollMs } from "./pace.ts";

/**
 * Polls an account's tasks from one heap: the task that is overdue longest comes first, so a low rate limit slows all of
 * them alike. A failed poll is repeated later and changes nothing.
 */
export type TaskPoller = Tasks & { start(): void };

export type TaskPollerOptions = {
  client: Pick<ServiceClient, "getTaskResult">;
  clock: Clock;
  random: () => number;
  /** A poll shows a change that a user would notice: status, results, or progress by 10 points or after 15 s. */
  onChange: (taskID: string) => void;
  onError: (error: unknown) => void;
};

type Followed = {
  taskID: string;
  submittedAt: number;
  due: number;
  failures: number;
  latest: TaskObservation | undefined;
  /** The observation of the last `onChange`. */
  told: TaskObservation | undefined;
};

const PROGRESS_POINTS = 10;
const PROGRESS_MS = 15_000;
/** Polls in progress. The rate limit is the real bound; as many submissions may wait for it. */
const CONCURRENCY = 16;

export function createTaskPoller(options: TaskPollerOptions): TaskPoller {
  const { clock } = options;
  const tasks = new Map<string, Followed>();
  const heap = new TinyQueue<{ taskID: string; due: number }>([], (a, b) => a.due - b.due);
  const ended = new AbortController();
  const polls = new Set<Promise<void>>();
  const pace = createPace();
  let started = false;
  let cancelTimer: (() => void) | undefined;

  function schedule(task: Followed, inMs: number): void {
    task.due = clock.monotonic() + inMs * (0.9 + 0.2 * options.random());
    heap.push({ taskID: task.taskID, due: task.due });
    pump();
  }

  function pump(): void {
    cancelTimer?.();
    cancelTimer = undefined;
    if (!started || ended.signal.aborted) return;
    for (let first = heap.peek(); first !== undefined && polls.size < CONCURRENCY; first = heap.peek()) {
      const task = tasks.get(first.taskID);
      if (task === undefined || task.due !== first.due) {
        heap.pop(); // forgotten or rescheduled
        continue;
      }
      if (first.due > clock.monotonic()) {
        cancelTimer = clock.setTimeout(pump, first.due - clock.monotonic());
        return;
      }
      heap.pop();
      pace.polledLate(clock.monotonic() - first.due);
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
      task.failures = 0;
      task.latest = { result, at: clock.now() };
      if (isNoticeable(task.told, task.latest)) {
        task.told = task.latest;
        options.onChange(task.taskID);
      }
    } catch (error) {
      if (ended.signal.aborted) return;
      task.failures++;
      if (error instanceof ServiceError) options.onError(error);
      else throw error;
    }
    if (tasks.get(task.taskID) === task) schedule(task, nextPollMs(task, clock.now(), pace.stretch()));
  }

  return {
    follow(taskID, submittedAt) {
      if (tasks.has(taskID)) return;
      const task: Followed = { taskID, submittedAt, due: 0, failures: 0, latest: undefined, told: undefined };
      tasks.set(taskID, task);
      // A new task is first polled after 3 s. Older tasks (after a restart) are spread over the same time.
      const age = clock.now() - submittedAt;
      schedule(task, age < FIRST_MS ? FIRST_MS - age : FIRST_MS * options.random());
    },
    forget: (taskID) => void tasks.delete(taskID),
    pollNow(taskID) {
      const task = tasks.get(taskID);
      if (task !== undefined) schedule(task, 0);
    },
    latest: (taskID) => tasks.get(taskID)?.latest,
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
      cancelTimer?.();
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
