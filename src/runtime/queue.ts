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
  /** Seconds that a key was ready before a worker took it. */
  onWait?: (seconds: number) => void;
};

const LOW_SHARE = 8;
const LANE_OF = { high: "urgent", low: "routine" } as const;

type QueuedKey = { priority: Priority; due: number; ready: boolean; readyAt: number };

export function createWorkQueue(options: WorkQueueOptions): WorkQueue {
  const { clock } = options;
  const running = new Set<string>();
  /** Keys that were added while they run. */
  const again = new Map<string, Pick<QueuedKey, "due" | "priority">>();
  const failures = new Map<string, number>();
  const takers = createTakers(take);
  const pending = createPending(options, takers.hand);
  const idlers: (() => void)[] = [];
  let closed = false;

  function add(key: string, { afterMs = 0, priority = "high" }: AddOptions = {}): void {
    if (closed) return;
    options.onAdd?.();
    const due = clock.monotonic() + Math.max(0, afterMs);
    if (running.has(key)) {
      const earlier = again.get(key);
      again.set(key, { due: Math.min(due, earlier?.due ?? due), priority: higher(priority, earlier?.priority) });
      return;
    }
    pending.place(key, due, priority);
    takers.hand();
  }

  function take(): string | undefined {
    const taken = pending.take();
    if (taken === undefined) return undefined;
    const { key, value: entry } = taken;
    running.add(key);
    options.onWait?.((clock.monotonic() - entry.readyAt) / 1000);
    return key;
  }

  const isIdle = () => closed || (running.size === 0 && pending.ready() === 0);

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
    next: takers.next,
    done(key) {
      running.delete(key);
      const next = again.get(key);
      again.delete(key);
      if (next !== undefined && !closed) {
        pending.place(key, next.due, next.priority);
        takers.hand();
      }
      tellIdle();
    },
    depth: pending.ready,
    retries: () => failures.size,
    idle() {
      return isIdle() ? Promise.resolve() : new Promise((resolve) => idlers.push(resolve));
    },
    shutDown() {
      closed = true;
      pending.stop();
      takers.close();
      tellIdle();
    },
  };
}

/** The keys that do not run, each once: a key waits for its time, then for its turn. `onReady`: keys became due. */
function createPending({ clock, groupOf }: WorkQueueOptions, onReady: () => void) {
  const entries = new Map<string, QueuedKey>();
  const ready = createLanedQueue<QueuedKey>(LOW_SHARE, groupOf ?? ((key) => splitKey(key).namespace ?? ""));
  const waiting = createSchedule<string>(clock, (due) => {
    for (const { item: key, due: at } of due) {
      const entry = entries.get(key);
      // An entry that was brought forward leaves its old place behind: it is stale.
      if (entry !== undefined && !entry.ready && entry.due === at) makeReady(key, entry);
    }
    onReady();
  });

  function makeReady(key: string, entry: QueuedKey): void {
    entry.ready = true;
    entry.readyAt = clock.monotonic();
    ready.push(LANE_OF[entry.priority], key, entry);
  }

  return {
    place(key: string, due: number, priority: Priority): void {
      const present = entries.get(key);
      const entry = present ?? { priority, due, ready: false, readyAt: 0 };
      entry.priority = higher(priority, entry.priority);
      if (entry.ready) {
        ready.move(LANE_OF[entry.priority], key);
        return;
      }
      if (present === undefined || due < entry.due) {
        entry.due = Math.min(due, entry.due);
        if (entry.due > clock.monotonic()) waiting.add(key, entry.due);
      }
      entries.set(key, entry);
      if (entry.due <= clock.monotonic()) makeReady(key, entry);
    },
    take() {
      const taken = ready.shift();
      if (taken !== undefined) entries.delete(taken.key);
      return taken;
    },
    ready: ready.size,
    stop: waiting.stop,
  };
}

/** Workers that wait for a key, in the order in which they asked. `take`: the next key that is ready. */
function createTakers(take: () => string | undefined) {
  const takers: ((key: string | undefined) => void)[] = [];
  let closed = false;

  return {
    hand(): void {
      while (takers.length > 0 && !closed) {
        const key = take();
        if (key === undefined) return;
        takers.shift()?.(key);
      }
    },
    next(): Promise<string | undefined> {
      if (closed) return Promise.resolve(undefined);
      const key = takers.length === 0 ? take() : undefined;
      if (key !== undefined) return Promise.resolve(key);
      return new Promise((resolve) => takers.push(resolve));
    },
    close(): void {
      closed = true;
      for (const taker of takers.splice(0)) taker(undefined);
    },
  };
}

function higher(a: Priority, b: Priority | undefined): Priority {
  return a === "high" || b === "high" ? "high" : "low";
}
