import type { Clock } from "../../base/clock.ts";
import { createFairQueue } from "../../base/fair-queue.ts";
import { isSameJSON } from "../../base/same-json.ts";
import { createSchedule } from "../../base/schedule.ts";
import type { ServiceClient } from "../client.ts";
import { ServiceError } from "../errors.ts";
import type { TaskObservation, Tasks } from "../types.ts";
import { createPace, FIRST_MS, nextPollMs, type PollStretch } from "./pace.ts";
import { otherTask, type Useless, uselessness } from "./task-result.ts";

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
   * A poll shows a change that a user would notice: status, results, or progress by 10 points or after 15 s. Or `failing` of the task
   * begins, has another reason, or ends.
   */
  onChange: (taskID: string) => void;
  onError: (error: unknown) => void;
};

type FollowedTask = {
  taskID: string;
  group: TaskGroup;
  submittedAt: number;
  due: number;
  failures: number;
  latest: TaskObservation | undefined;
  /** The observation of the last `onChange`. */
  told: TaskObservation | undefined;
  failing: Failing | undefined;
  useless: UselessPolls | undefined;
};

/** `tasks`: how many tasks it has. */
type TaskGroup = { name: string; pace: PollStretch; tasks: number };

/** `since`: ms since the epoch. `from`: the same, monotonic ms. */
type PollStreak = { since: number; from: number };
/** Consecutive failed polls. `told`: the reason for which `onChange` was called. */
type Failing = PollStreak & { error: ServiceError; told: "NotFound" | "Other" | undefined };
/** Consecutive polls with the same useless result. `first`: the first of them. */
type UselessPolls = PollStreak & { first: TaskObservation; useless: Useless; told: boolean };

const PROGRESS_POINTS = 10;
const PROGRESS_MS = 15_000;
/** Failures are shown when they have lasted this long. Most end sooner. */
const SHOW_FAILING_MS = 60_000;
/** The same for useless polls. A task can stay in a state that the interface document does not show. */
const SHOW_USELESS_MS: Record<Useless["kind"], number> = { NoResults: 60_000, UnknownStatus: 3_600_000 };
/** Polls in progress. The rate limit is the real bound; as many submissions may wait for it. */
const CONCURRENCY = 16;

const UNREADABLE = { operation: "getTaskResult", kind: "UnreadableResponse", delivery: "Unknown" } as const;

export function createTaskPoller(options: TaskPollerOptions): TaskPoller {
  const { clock } = options;
  const tasks = new Map<string, FollowedTask>();
  const groups = new Map<string, TaskGroup>();
  /** Tasks whose poll is due, by task ID. */
  const ready = createFairQueue<FollowedTask>();
  const ended = new AbortController();
  const polls = new Set<Promise<void>>();
  const waiting = createSchedule<FollowedTask>(clock, (due) => {
    for (const { item: task, due: at } of due) {
      const outdated = tasks.get(task.taskID) !== task || task.due !== at;
      if (!outdated && ready.get(task.taskID) === undefined) ready.push(task.group.name, task.taskID, task);
    }
    pump();
  });
  let started = false;

  function schedule(task: FollowedTask, inMs: number): void {
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

  async function pollOnce(task: FollowedTask): Promise<void> {
    try {
      const result = await options.client.getTaskResult(
        { taskID: task.taskID },
        { signal: ended.signal, group: task.group.name },
      );
      const message = otherTask(result, task.taskID);
      if (message !== undefined) throw new ServiceError({ ...UNREADABLE, message });
      const recovers = task.failing?.told !== undefined;
      task.failures = 0;
      task.failing = undefined;
      task.latest = { result, at: clock.now() };
      if (recordUse(task, task.latest) || recovers || isNoticeable(task.told, task.latest)) {
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

  function recordFailure(task: FollowedTask, error: ServiceError): void {
    const failing: Failing = task.failing ?? { since: clock.now(), from: clock.monotonic(), error, told: undefined };
    failing.error = error;
    task.failing = failing;
    const kind = error.kind === "NotFound" ? "NotFound" : "Other";
    if (!isShown(failing) || failing.told === kind) return;
    failing.told = kind;
    options.onChange(task.taskID);
  }

  /** Whether the polls have been useless for so long that it is reported now. */
  function recordUse(task: FollowedTask, latest: TaskObservation): boolean {
    const useless = uselessness(latest.result);
    const known = task.useless;
    if (useless === undefined || known === undefined || isNoticeable(known.first, latest)) {
      const row = { since: latest.at, from: clock.monotonic(), first: latest, told: false };
      task.useless = useless && { ...row, useless };
      return false;
    }
    known.useless = useless;
    if (known.told || !isUselessShown(known)) return false;
    known.told = true;
    return true;
  }

  const isShown = ({ from }: PollStreak, afterMs = SHOW_FAILING_MS) => clock.monotonic() - from >= afterMs;
  const isUselessShown = (polls: UselessPolls) => isShown(polls, SHOW_USELESS_MS[polls.useless.kind]);

  return {
    follow(taskID, submittedAt, name) {
      if (tasks.has(taskID)) return;
      const group = groups.get(name) ?? { name, pace: createPace(), tasks: 0 };
      groups.set(name, group);
      group.tasks++;
      const unpolled = {
        due: 0,
        failures: 0,
        latest: undefined,
        told: undefined,
        failing: undefined,
        useless: undefined,
      };
      const task: FollowedTask = { taskID, group, submittedAt, ...unpolled };
      tasks.set(taskID, task);
      // A new task is first polled after 3 s. Older tasks (after a restart) are spread over the same time.
      // With a wall clock that was set back, it seems to be submitted later than now.
      const age = Math.max(0, clock.now() - submittedAt);
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
      const { failing, useless } = tasks.get(taskID) ?? {};
      if (failing !== undefined && isShown(failing)) return { since: failing.since, error: failing.error };
      const shown = useless !== undefined && isUselessShown(useless);
      return shown ? { since: useless.since, useless: useless.useless } : undefined;
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
  if (!isSameJSON([before.audios, before.videos, before.images], [after.audios, after.videos, after.images])) {
    return true;
  }
  const points = Math.abs((after.task.progressPercent ?? 0) - (before.task.progressPercent ?? 0));
  return points >= PROGRESS_POINTS || (points > 0 && latest.at - told.at >= PROGRESS_MS);
}
