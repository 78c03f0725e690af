import type { Clock } from "../base/clock.ts";
import { createLanedQueue } from "../base/fair-queue.ts";
import { createSchedule } from "../base/schedule.ts";
import { splitKey } from "../kube/types.ts";
import { type BackoffOptions, backoffDelay } from "./backoff.ts";

/** `low` is for keys of an initial list: real changes overtake them. */
export type Priority = "high" | "low";
export type AddOptions = { afterMs?: number; priority?: Priority };

/**
 * A deduplicating, delaying work queue of keys (client-go's workqueue with controller-runtime's priorities).
 *
 * Guarantees: a key is handed to one worker at a time; a key added while it runs runs once more; adding a waiting key
 * keeps the earlier time and the higher priority; low-priority keys get at least one turn in eight; groups
 * (namespaces) of one priority take turns, so one group's thousands never hold up another's single key.
 */
export type WorkQueue = {
  add(key: string, options?: AddOptions): void;
  /** Adds after the key's own backoff, which grows with each call until `forget`. */
  addRateLimited(key: string, priority?: Priority): void;
  forget(key: string): void;
  /** The next key to work on; undefined once the queue is shut down. */
  next(): Promise<string | undefined>;
  done(key: string): void;
  /** Keys ready to run. */
  depth(): number;
  retries(): number;
  /** Resolves when no key is ready to run and none runs. Keys that wait for their time do not count. */
  idle(): Promise<void>;
  shutDown(): void;
};

export type WorkQueueOptions = {
  clock: Clock;
  backoff: BackoffOptions;
  /** Default: the namespace. */
  groupOf?: (key: string) => string;
  onAdd?: () => void;
  onRetry?: () => void;
  /** Seconds a key stood ready before a worker took it. */
  onWait?: (seconds: number) => void;
};

const LOW_SHARE = 8;
const LANE_OF = { high: "urgent", low: "routine" } as const;

type QueuedKey = { priority: Priority; due: number; ready: boolean; readyAt: number };

export function createWorkQueue(options: WorkQueueOptions): WorkQueue {
  const { clock } = options;
  const entries = new Map<string, QueuedKey>();
  const running = new Set<string>();
  const again = new Map<string, QueuedKey>();
  const failures = new Map<string, number>();
  const ready = createLanedQueue<QueuedKey>(LOW_SHARE, options.groupOf ?? ((key) => splitKey(key).namespace ?? ""));
  const waiting = createSchedule<string>(clock, (due) => {
    for (const { item: key, due: at } of due) {
      const entry = entries.get(key);
      // An entry that was brought forward leaves its old place behind: it is stale.
      if (entry !== undefined && !entry.ready && entry.due === at) makeReady(key, entry);
    }
    hand();
  });
  const takers: ((key: string | undefined) => void)[] = [];
  const idlers: (() => void)[] = [];
  let closed = false;

  function add(key: string, { afterMs = 0, priority = "high" }: AddOptions = {}): void {
    if (closed) return;
    options.onAdd?.();
    const due = clock.monotonic() + Math.max(0, afterMs);
    if (running.has(key)) {
      const earlier = again.get(key);
      again.set(key, waitingUntil(Math.min(due, earlier?.due ?? due), higher(priority, earlier?.priority)));
      return;
    }
    place(key, due, priority);
    hand();
  }

  function place(key: string, due: number, priority: Priority): void {
    const present = entries.get(key);
    const entry = present ?? waitingUntil(due, priority);
    const raised = higher(priority, entry.priority);
    entry.priority = raised;
    if (entry.ready) {
      ready.move(LANE_OF[raised], key);
      return;
    }
    if (present === undefined || due < entry.due) {
      entry.due = Math.min(due, entry.due);
      if (entry.due > clock.monotonic()) waiting.add(key, entry.due);
    }
    entries.set(key, entry);
    if (entry.due <= clock.monotonic()) makeReady(key, entry);
  }

  function makeReady(key: string, entry: QueuedKey): void {
    entry.ready = true;
    entry.readyAt = clock.monotonic();
    ready.push(LANE_OF[entry.priority], key, entry);
  }

  function take(): string | undefined {
    const taken = ready.shift();
    if (taken === undefined) return undefined;
    const { key, value: entry } = taken;
    entries.delete(key);
    running.add(key);
    options.onWait?.((clock.monotonic() - entry.readyAt) / 1000);
    return key;
  }

  function hand(): void {
    while (takers.length > 0 && !closed) {
      const key = take();
      if (key === undefined) return;
      takers.shift()?.(key);
    }
  }

  const isIdle = () => closed || (running.size === 0 && ready.size() === 0);

  function tellIdle(): void {
    if (isIdle()) for (const idler of idlers.splice(0)) idler();
  }

  return {
    add,
    addRateLimited(key, priority = "high") {
      const count = (failures.get(key) ?? 0) + 1;
      failures.set(key, count);
      options.onRetry?.();
      add(key, { afterMs: backoffDelay(count, options.backoff), priority });
    },
    forget: (key) => void failures.delete(key),
    next() {
      if (closed) return Promise.resolve(undefined);
      const key = takers.length === 0 ? take() : undefined;
      if (key !== undefined) return Promise.resolve(key);
      return new Promise((resolve) => takers.push(resolve));
    },
    done(key) {
      running.delete(key);
      const next = again.get(key);
      again.delete(key);
      if (next !== undefined && !closed) {
        place(key, next.due, next.priority);
        hand();
      }
      tellIdle();
    },
    depth: ready.size,
    retries: () => failures.size,
    idle() {
      return isIdle() ? Promise.resolve() : new Promise((resolve) => idlers.push(resolve));
    },
    shutDown() {
      closed = true;
      waiting.stop();
      for (const taker of takers.splice(0)) taker(undefined);
      tellIdle();
    },
  };
}

function waitingUntil(due: number, priority: Priority): QueuedKey {
  return { priority, due, ready: false, readyAt: 0 };
}

function higher(a: Priority, b: Priority | undefined): Priority {
  return a === "high" || b === "high" ? "high" : "low";
}
