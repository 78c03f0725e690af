import type { Clock } from "../base/clock.ts";
import type { Money } from "../base/money.ts";
import type { Operation } from "../provider/operations.ts";
import type { Allowance, BookReading, BudgetRefusal } from "./allowance.ts";
import type { TaskEnd } from "./attribution.ts";
import { createBalanceHold } from "./balance-hold.ts";
import { createPlaces, type Places, type Stage } from "./places.ts";
import { createPools, type PoolHold } from "./pools.ts";
import { createReservations, type EndedTask } from "./reservations.ts";
import { aheadText, createTeller, createWaitingLine } from "./waiting-line.ts";
import type { Work } from "./work.ts";

/** Why a job waits. `ahead`: how many jobs of its own namespace go before it (fair-queue.ts). */
export type Wait = Hold & { ahead: number };

/** Why a paid request has to wait for money. */
export type SpendingRefusal = BudgetRefusal | PoolHold | { reason: "InsufficientBalance"; message: string };

/** Why the next job of an account has no place. */
type Hold = SpendingRefusal | PoolHold | { reason: "ConcurrencyLimited" | "RateLimited"; message: string };

type AccountLineOptions = {
  clock: Clock;
  allowance: () => Allowance;
  stopped: () => boolean;
  /** Tasks that ended before this line. */
  ended: readonly EndedTask[];
  /** The hold for an empty balance began or ended. */
  onBalance: () => void;
};

/** Most requests that wait for the account's rate limit; polls of tasks wait there too. */
const MAX_UNSENT = 16;
/** Most requests that are under way; each holds its text and a connection. */
const MAX_UNDER_WAY = 256;
/** A waiting job asks once a minute; one that has not asked for longer is forgotten. */
const FORGOTTEN_MS = 150_000;
const TURN: Hold = {
  reason: "RateLimited",
  message: "Other requests of the account wait for its rate limit: this one goes in its turn",
};

const UNDER_WAY = `${MAX_UNDER_WAY} requests of the account are under way, the most that the operator has at a time`;

export type AccountLine = ReturnType<typeof createAccountLine>;

/** The jobs of one account that have a place or wait for one (admission.ts has the contract). */
export function createAccountLine(options: AccountLineOptions) {
  const { clock, allowance, stopped } = options;
  const places = createPlaces();
  const pools = createPools(clock, places, () => allowance().division);
  const queue = createWaitingLine(clock, pools, () => allowance().division);
  const reservations = createReservations(clock);
  for (const task of options.ended) reservations.settle(task);
  const tell = createTeller(clock, stopped);
  const balance = createBalanceHold(clock, () => {
    recheck();
    options.onBalance();
  });
  /** What the budget left at the last reading. */
  let left: Money | undefined;
  /** The hold that waiting jobs show. */
  let told = "";
  /** When an endpoint had to wait for the budget, monotonic ms. It asks again once a minute. */
  let refusedAt = Number.NEGATIVE_INFINITY;

  const forgotten = (askedAt: number) => clock.monotonic() - askedAt > FORGOTTEN_MS;

  function holdOn({ operation }: Work): Hold | undefined {
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
      const { work, askedAt, wake } = next.value;
      if (forgotten(askedAt)) queue.remove(next.key);
      else if (holdOn(work) !== undefined) return;
      else {
        queue.shift(work);
        places.admit(work, clock.monotonic());
        balance.tries(next.key);
        if (next.key !== asking) wake();
      }
    }
    queue.onFree(stopped() ? undefined : () => admitNext());
  }

  /** Why the queue does not move; undefined: it is empty, or moves with the next request. */
  function hold(): Hold | undefined {
    const next = queue.peek();
    return next && holdOn(next.value.work);
  }

  function waitOf(work: Work): Wait {
    const ahead = queue.ahead(work.uid);
    const held = pools.hold(work) ?? hold() ?? TURN;
    if (held === TURN || allowance().division?.poolOf(work.namespace) === undefined) return { ...held, ahead };
    return { ...held, message: `${held.message}: ${aheadText(ahead)}`, ahead };
  }

  /** `end`: undefined when its request surely cost nothing. */
  function release(uid: string, end: TaskEnd | undefined): void {
    queue.remove(uid);
    const place = places.remove(uid);
    balance.ended(uid);
    const { budget } = allowance();
    const counts = budget !== undefined && budget.kind !== "Unlimited";
    if (place?.stage === "Sent") pools.answered(place.work.namespace);
    const wasSent = place?.stage === "Sent" || place?.stage === "InFlight";
    if (wasSent && end !== undefined && counts) reservations.settle({ operation: place.work.operation, end });
    admitNext();
  }

  /** Admits jobs. When the hold has changed, wakes the waiting jobs, which ask again and show it. */
  function recheck(): void {
    admitNext();
    const held = hold();
    const telling = held === undefined ? "" : `${held.reason}: ${held.message}`;
    if (telling === told) return;
    told = telling;
    tell(queue.first(queue.size()));
  }

  return {
    /** undefined: admitted. */
    request(work: Work, wake: () => void): Wait | undefined {
      const { uid, namespace } = work;
      const now = clock.monotonic();
      if (places.stageOf(uid) === "Admitted") {
        places.admit(work, now);
        return undefined;
      }
      if (places.stageOf(uid) !== undefined) release(uid, "Seen"); // it asks, so its last request has ended
      const waiter = queue.get(uid);
      if (waiter === undefined) queue.push(namespace, uid, { work, askedAt: now, wake });
      else Object.assign(waiter, { work, askedAt: now, wake });
      admitNext(uid);
      return places.stageOf(uid) === undefined ? waitOf(work) : undefined;
    },
    has: (uid: string) => places.stageOf(uid) !== undefined || queue.get(uid) !== undefined,
    withdraw(uid: string): void {
      if (places.stageOf(uid) === "Admitted") {
        places.remove(uid);
        balance.ended(uid);
      }
      queue.remove(uid);
      admitNext();
    },
    /** Moves the job's place on; without a place nothing happens. */
    advance(uid: string, stage: Stage): void {
      places.advance(uid, stage);
      admitNext();
    },
    running(work: Work): void {
      if (places.stageOf(work.uid) === "Sent") pools.answered(work.namespace);
      places.running(work);
      admitNext();
    },
    /** As `running`, for a request whose outcome is not known yet. */
    underWay(work: Work): void {
      places.running(work);
      places.advance(work.uid, "Sent");
    },
    taskEnded(uid: string): void {
      if (places.stageOf(uid) === "InFlight") release(uid, "Seen");
    },
    release,
    /** The service refused a paid request because of the balance, or accepted one. */
    balance,
    exhausted(namespace: string): SpendingRefusal | undefined {
      const unpaid = balance.message();
      if (unpaid !== undefined) return { reason: "InsufficientBalance", message: unpaid };
      const held = pools.exhausted(namespace);
      if (held !== undefined) return held;
      const refusal = reservations.exhausted(places.operations(), allowance());
      if (refusal !== undefined) refusedAt = clock.monotonic();
      return refusal;
    },
    spend(operation: Operation): () => void {
      const { budget } = allowance();
      return budget?.kind === "Limited" ? reservations.spend(operation) : () => {};
    },
    unbilled: reservations.unbilled,
    moneyRead(readings: readonly BookReading[]): void {
      const { budget } = allowance();
      const leftNow = budget?.kind === "Limited" ? budget.headroom : undefined;
      if (left !== undefined && leftNow !== undefined && leftNow > left) balance.retry();
      left = leftNow;
      reservations.moneyRead(readings, places.operations(), allowance());
      recheck();
    },
    recheck,
    urgency(): "Settling" | "Waiting" | "None" {
      if (reservations.settling()) return "Settling";
      if (!forgotten(refusedAt)) return "Waiting";
      const reason = hold()?.reason;
      return queue.size() === 0 || reason === "ConcurrencyLimited" || reason === "RateLimited" ? "None" : "Waiting";
    },
    waiting: () => queue.size(),
    use: pools.use,
    /** Nobody is woken any more. */
    end(): void {
      balance.end();
      queue.onFree(undefined);
      tell([]);
    },
  };
}

function concurrencyHold(places: Places, { maxTasks }: Allowance): Hold | undefined {
  if (maxTasks === undefined || places.size() < maxTasks) return undefined;
  const message = `The account allows ${maxTasks} tasks in flight (maxConcurrentTasks)`;
  return { reason: "ConcurrencyLimited", message };
}

/** Whether as many requests have begun as the account's rate limit or this process can take. */
function fullnessHold(places: Places): Hold | undefined {
  const unsent = places.count("Admitted") + places.count("Unsent");
  if (unsent >= MAX_UNSENT) return TURN;
  const underWay = unsent + places.count("Opening") + places.count("Sent");
  return underWay >= MAX_UNDER_WAY ? { reason: "ConcurrencyLimited", message: UNDER_WAY } : undefined;
}
