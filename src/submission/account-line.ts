import type { Clock } from "../base/clock.ts";
import { createFairQueue } from "../base/fair-queue.ts";
import type { Money } from "../base/money.ts";
import type { Operation } from "../provider/operations.ts";
import { type BalanceHold, createBalanceHold } from "./balance-hold.ts";
import {
  type Allowance,
  type BookReading,
  type BudgetRefusal,
  createReservations,
  type EndedTask,
  type TaskEnd,
  type Unbilled,
} from "./reservations.ts";

/** A job that sends one paid request. */
export type Work = { uid: string; namespace: string; operation: Operation };

/** Why a job waits. `ahead`: how many jobs of its own namespace go before it (fair-queue.ts). */
export type Wait = Hold & { ahead: number };

/** Why a paid request has to wait for money. */
export type SpendingRefusal = BudgetRefusal | { reason: "InsufficientBalance"; message: string };

/** Why the next job of an account has no place. */
type Hold = SpendingRefusal | { reason: "ConcurrencyLimited" | "RateLimited"; message: string };

/** The jobs of one account that have a place or wait for one (admission.ts has the contract). */
export type AccountLine = {
  /** undefined: admitted. */
  request(work: Work, wake: () => void): Wait | undefined;
  has(uid: string): boolean;
  withdraw(uid: string): void;
  /** Moves the job's place on; without a place nothing happens. */
  advance(uid: string, stage: "Unsent" | "Opening" | "Sent"): void;
  running(work: Work): void;
  taskEnded(uid: string): void;
  /** `end`: undefined when its request surely cost nothing. */
  release(uid: string, end: TaskEnd | undefined): void;
  exhausted(): SpendingRefusal | undefined;
  /** The service refused a paid request for the balance, or took one. */
  balance: Pick<BalanceHold, "refused" | "accepted" | "reason">;
  spend(operation: Operation): () => void;
  unbilled(): Unbilled | undefined;
  moneyRead(readings: readonly BookReading[]): void;
  recheck(): void;
  urgency(): "Settling" | "Waiting" | "None";
  waiting(): number;
};

export type AccountLineOptions = {
  clock: Clock;
  allowance: () => Allowance;
  stopped: () => boolean;
  /** Tasks that ended before this line. */
  ended: readonly EndedTask[];
  /** The account is held for its balance, or not any more. */
  onBalance: () => void;
};

/** Most requests that wait for the account's rate limit; polls of tasks wait there too. */
const MAX_UNSENT = 16;
/** Most requests that are under way; each holds its text and a connection. */
const MAX_UNDER_WAY = 256;
/** A waiting job asks once a minute; one that has not asked for longer is not there any more. */
const FORGOTTEN_MS = 150_000;
/** Most jobs that are woken each second to show a new reason. */
const WAKE_AT_ONCE = 64;
const WAKE_EVERY_MS = 1_000;

const TURN: Hold = {
  reason: "RateLimited",
  message: "Other requests of the account wait for its rate limit: this one goes in its turn",
};

const UNDER_WAY = `${MAX_UNDER_WAY} requests of the account are under way, the most that the operator has at a time`;

type WaitingJob = { operation: Operation; askedAt: number; wake: () => void };

export function createAccountLine(options: AccountLineOptions): AccountLine {
  const { clock, allowance, stopped, ended } = options;
  const places = createPlaces();
  const queue = createFairQueue<WaitingJob>();
  const reservations = createReservations(clock);
  for (const task of ended) reservations.settle(task);
  const tell = createTeller(clock, stopped);
  const balance = createBalanceHold(clock, () => {
    recheck();
    options.onBalance();
  });
  /** What the budget left at the last reading. */
  let left: Money | undefined;
  /** The hold that the waiting jobs were told of last. */
  let told = "";
  /** When an endpoint had to wait for the budget, monotonic ms. It asks again once a minute. */
  let refusedAt = Number.NEGATIVE_INFINITY;

  const forgotten = (askedAt: number) => clock.monotonic() - askedAt > FORGOTTEN_MS;

  function holdOn(operation: Operation): Hold | undefined {
    const allowed = allowance();
    const unpaid = balance.message();
    if (unpaid !== undefined) return { reason: "InsufficientBalance", message: unpaid };
    const refusal = concurrencyHold(places, allowed) ?? reservations.refusal(operation, places.operations(), allowed);
    return refusal ?? (stopped() ? TURN : fullnessHold(places));
  }

  /** Gives places to the jobs that go next, as long as there is room. The job that asks is not woken. */
  function admitNext(asking?: string): void {
    for (const uid of places.admittedBefore(clock.monotonic() - FORGOTTEN_MS)) {
      places.remove(uid);
      balance.ended(uid);
    }
    for (let next = queue.peek(); next !== undefined; next = queue.peek()) {
      const { operation, askedAt, wake } = next.value;
      if (forgotten(askedAt)) queue.remove(next.key);
      else if (holdOn(operation) !== undefined) return;
      else {
        queue.shift();
        places.admit(next.key, operation, clock.monotonic());
        balance.tries(next.key);
        if (next.key !== asking) wake();
      }
    }
  }

  /** Why the queue does not move; undefined: it is empty, or moves with the next request. */
  function hold(): Hold | undefined {
    const next = queue.peek();
    return next && holdOn(next.value.operation);
  }

  function release(uid: string, end: TaskEnd | undefined): void {
    queue.remove(uid);
    const place = places.remove(uid);
    balance.ended(uid);
    const { budget } = allowance();
    const counts = budget !== undefined && budget.kind !== "Unlimited";
    const wasSent = place?.stage === "Sent" || place?.stage === "InFlight";
    if (wasSent && end !== undefined && counts) reservations.settle({ operation: place.operation, end });
    admitNext();
  }

  /** Admits what may go now. When the hold is another one than before, the waiting jobs ask again and show it. */
  function recheck(): void {
    admitNext();
    const held = hold();
    const telling = held === undefined ? "" : `${held.reason}: ${held.message}`;
    if (telling === told) return;
    told = telling;
    tell(queue.first(queue.size()));
  }

  return {
    request({ uid, namespace, operation }, wake) {
      const now = clock.monotonic();
      if (places.stageOf(uid) === "Admitted") {
        places.admit(uid, operation, now);
        return undefined;
      }
      if (places.stageOf(uid) !== undefined) release(uid, "Seen"); // it asks, so its last request has ended
      const waiter = queue.get(uid);
      if (waiter === undefined) queue.push(namespace, uid, { operation, askedAt: now, wake });
      else Object.assign(waiter, { operation, askedAt: now, wake });
      admitNext(uid);
      return places.stageOf(uid) === undefined ? { ...(hold() ?? TURN), ahead: queue.ahead(uid) } : undefined;
    },
    has: (uid) => places.stageOf(uid) !== undefined || queue.get(uid) !== undefined,
    withdraw(uid) {
      if (places.stageOf(uid) === "Admitted") {
        places.remove(uid);
        balance.ended(uid);
      }
      queue.remove(uid);
      admitNext();
    },
    advance(uid, stage) {
      places.advance(uid, stage);
      admitNext();
    },
    running({ uid, operation }) {
      places.running(uid, operation);
      admitNext();
    },
    taskEnded(uid) {
      if (places.stageOf(uid) === "InFlight") release(uid, "Seen");
    },
    release,
    balance,
    exhausted() {
      const unpaid = balance.message();
      if (unpaid !== undefined) return { reason: "InsufficientBalance", message: unpaid };
      const refusal = reservations.exhausted(places.operations(), allowance());
      if (refusal !== undefined) refusedAt = clock.monotonic();
      return refusal;
    },
    spend(operation) {
      const { budget } = allowance();
      return budget?.kind === "Limited" ? reservations.spend(operation) : () => {};
    },
    unbilled: reservations.unbilled,
    moneyRead(readings) {
      const { budget } = allowance();
      const leftNow = budget?.kind === "Limited" ? budget.headroom : undefined;
      if (left !== undefined && leftNow !== undefined && leftNow > left) balance.retry();
      left = leftNow;
      reservations.moneyRead(readings, places.operations(), allowance());
      recheck();
    },
    recheck,
    urgency() {
      if (reservations.settling()) return "Settling";
      if (!forgotten(refusedAt)) return "Waiting";
      const reason = hold()?.reason;
      return queue.size() === 0 || reason === "ConcurrencyLimited" || reason === "RateLimited" ? "None" : "Waiting";
    },
    waiting: () => queue.size(),
  };
}

function concurrencyHold(places: Places, { maxTasks }: Allowance): Hold | undefined {
  if (maxTasks === undefined || places.size() < maxTasks) return undefined;
  const message = `The account allows ${maxTasks} tasks in flight (maxConcurrentTasks)`;
  return { reason: "ConcurrencyLimited", message };
}

/** As many requests are on their way as the account's rate limit or this process can take. */
function fullnessHold(places: Places): Hold | undefined {
  const unsent = places.count("Admitted") + places.count("Unsent");
  if (unsent >= MAX_UNSENT) return TURN;
  const underWay = unsent + places.count("Opening") + places.count("Sent");
  return underWay >= MAX_UNDER_WAY ? { reason: "ConcurrencyLimited", message: UNDER_WAY } : undefined;
}

/** Wakes jobs, so that they show a new reason: some at once, the others second by second. Each call replaces the one before. */
function createTeller(clock: Clock, stopped: () => boolean): (waiters: readonly WaitingJob[]) => void {
  let cancel: (() => void) | undefined;

  return function tell(waiters) {
    cancel?.();
    cancel = undefined;
    if (stopped()) return;
    for (const { wake } of waiters.slice(0, WAKE_AT_ONCE)) wake();
    const others = waiters.slice(WAKE_AT_ONCE);
    if (others.length > 0) cancel = clock.setTimeout(() => tell(others), WAKE_EVERY_MS);
  };
}

/**
 * How far a job with a place is: its request has not begun, waits for the rate limit, waits until its artifact is open (for memory
 * that all accounts share), was sent and the status does not show its outcome, or the status shows its task. Only from `Sent` on can it
 * cost something.
 */
export type Stage = "Admitted" | "Unsent" | "Opening" | "Sent" | "InFlight";

/** The jobs of one account that have a place, by UID, counted by stage and by operation. */
type Places = {
  /** Gives the job a place, or notes that it asked again. `askedAt`: monotonic ms. */
  admit(uid: string, operation: Operation, askedAt: number): void;
  /** The place of a job whose status shows a task. */
  running(uid: string, operation: Operation): void;
  /** Moves the place on; without a place nothing happens. */
  advance(uid: string, stage: Stage): void;
  /** The place that the job had; undefined: none. */
  remove(uid: string): { operation: Operation; stage: Stage } | undefined;
  stageOf(uid: string): Stage | undefined;
  /** Jobs whose request has not begun and that asked last before `time`. */
  admittedBefore(time: number): string[];
  count(stage: Stage): number;
  /** Places by operation; an operation without a place is not there. */
  operations(): ReadonlyMap<Operation, number>;
  size(): number;
};

function createPlaces(): Places {
  const places = new Map<string, { operation: Operation; stage: Stage }>();
  const stages: Record<Stage, number> = { Admitted: 0, Unsent: 0, Opening: 0, Sent: 0, InFlight: 0 };
  const operations = new Map<Operation, number>();
  /** When each job in stage Admitted asked last. */
  const askedAt = new Map<string, number>();

  function set(uid: string, operation: Operation, stage: Stage): void {
    remove(uid);
    places.set(uid, { operation, stage });
    stages[stage]++;
    operations.set(operation, (operations.get(operation) ?? 0) + 1);
  }

  function remove(uid: string) {
    const place = places.get(uid);
    if (place === undefined) return undefined;
    const { operation, stage } = place;
    places.delete(uid);
    askedAt.delete(uid);
    stages[stage]--;
    const others = (operations.get(operation) ?? 0) - 1;
    if (others > 0) operations.set(operation, others);
    else operations.delete(operation);
    return place;
  }

  return {
    admit(uid, operation, asked) {
      set(uid, operation, "Admitted");
      askedAt.set(uid, asked);
    },
    running: (uid, operation) => set(uid, operation, "InFlight"),
    advance(uid, stage) {
      const place = places.get(uid);
      if (place !== undefined) set(uid, place.operation, stage);
    },
    remove,
    stageOf: (uid) => places.get(uid)?.stage,
    admittedBefore: (time) => [...askedAt].flatMap(([uid, at]) => (at < time ? [uid] : [])),
    count: (stage) => stages[stage],
    operations: () => operations,
    size: () => places.size,
  };
}
