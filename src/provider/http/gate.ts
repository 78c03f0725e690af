import { type Clock, inLine } from "../../base/clock.ts";
import { createFairQueue, createLanedQueue, type Lane } from "../../base/fair-queue.ts";
import { type Bucket, createBucket, freeAt, setRate, takeToken } from "../../base/token-bucket.ts";
import { OPERATION_NAMES, OPERATIONS, type Operation } from "../operations.ts";
import { CONNECTIONS } from "./connections.ts";

/**
 * The one place where the calls of an account wait: for a free connection, and for a token of the rate limit. Both are taken together,
 * so a call that waits holds neither.
 *
 * # Order
 * Urgent calls go before routine ones, which have every eighth turn. In each lane, operations and groups (namespaces) take turns. An
 * operation that waits delays no other one.
 *
 * # Guarantees
 * - The bucket of the account is never exceeded, and below it the bucket of an operation. A call takes its tokens when it goes. So after
 *   a pause of the process, calls whose time came meanwhile go at the rate.
 * - A first byte leaves with a token that is at most 1 s old (`Pass.isFresh`).
 * - Each 429 multiplies the rate by 0.75, at most once a second, and every other response adds 0.1 % of `requestsPerSecond`. The rate
 *   stays between a tenth of `requestsPerSecond` and all of it. A lowered rate has a burst of one second.
 */
export type Gate = {
  /** Resolves when the call has a connection and a token. Rejects with the signal's reason when it is aborted first, and takes nothing. */
  enter(operation: Operation, options?: EnterOptions): Promise<Pass>;
  /**
   * After a 429: pauses the operation for 1 s doubling to 60 s with jitter, or for the time that the service asks if that is longer.
   * Never shortens a pause. Lowers the rate of the account. Returns the pause in ms.
   */
  rateLimited(operation: Operation, retryAfterMs?: number): number;
  /** After any other response: the next backoff starts at 1 s again, and a lowered rate rises. */
  succeeded(operation: Operation): void;
  /** Number of calls that wait. */
  waiting(): number;
};

export type EnterOptions = {
  signal?: AbortSignal | undefined;
  /** Default: `urgent`. `first` goes before all others. */
  lane?: Lane | "first" | undefined;
  /** Groups take turns. Default: one group. */
  group?: string | undefined;
};

/** A call that was let in. */
export type Pass = {
  /** Whether its token still allows a first byte. */
  isFresh(): boolean;
  /** Takes another token, first in line. It does not wait for a pause of the operation, which began after the call was let in. */
  renew(signal?: AbortSignal): Promise<void>;
  /** Releases the connection. Every call that was let in must call it. */
  leave(): void;
};

export type GateOptions = {
  clock: Clock;
  /** In [0, 1), for jitter. */
  random: () => number;
  /** Calls per second of the whole account, default 10. */
  requestsPerSecond?: number;
  /** Calls that may be sent at once after a quiet time, default 20. */
  burst?: number;
  /** Calls per minute of single operations, within the rate of the account. */
  requestsPerMinute?: { readonly [operation in Operation]?: number };
  /** Start with an empty bucket: the former server may just have used the rate. Default: start with a full one. */
  startsEmpty?: boolean;
};

const ROUTINE_EVERY = 8;
const TOKEN_MS = 1_000;
const BACKOFF = { firstMs: 1_000, maxMs: 60_000 };
const RATE = { decrease: 0.75, increase: 0.001, lowest: 0.1, oneRefusalMs: 1_000 };

/** The calls of one operation. `own` limits it beside the account's bucket. `entering` and `renewing`: how many wait. */
type OperationState = {
  own: Bucket | undefined;
  connections: { free: number };
  pausedUntil: number;
  refusals: number;
  entering: number;
  renewing: number;
};
const KINDS = ["entering", "renewing"] as const;
type TurnKind = (typeof KINDS)[number];
type Waiter = { state: OperationState; kind: TurnKind; group: string; go(): void };
type States = ReadonlyMap<Operation, OperationState>;

export function createGate(options: GateOptions): Gate {
  const { clock, random } = options;
  const rate = createRate(options);
  const states = createStates(rate.own);
  const { turn, pump, waiting } = createTurns(clock, rate.account, states);

  return {
    async enter(operation, options = {}) {
      const { connections } = stateOf(states, operation);
      await turn(operation, "entering", options);
      let takenAt = clock.monotonic();
      let inside = true;
      return {
        isFresh: () => clock.monotonic() - takenAt <= TOKEN_MS,
        async renew(signal) {
          await turn(operation, "renewing", { signal, lane: "first" });
          takenAt = clock.monotonic();
        },
        leave() {
          if (!inside) return;
          inside = false;
          connections.free += 1;
          pump();
        },
      };
    },
    rateLimited(operation, retryAfterMs = 0) {
      rate.refused();
      const now = clock.monotonic();
      const state = stateOf(states, operation);
      let pauseMs = retryAfterMs;
      // Calls that were in flight together are refused together: that counts as one refusal.
      if (state.pausedUntil <= now) {
        const backoffMs = Math.min(BACKOFF.maxMs, BACKOFF.firstMs * 2 ** Math.min(state.refusals, 16));
        state.refusals += 1;
        pauseMs = Math.max(pauseMs, backoffMs * (0.8 + 0.4 * random()));
      }
      state.pausedUntil = Math.max(state.pausedUntil, now + pauseMs);
      pump();
      return state.pausedUntil - now;
    },
    succeeded(operation) {
      rate.succeeded();
      stateOf(states, operation).refusals = 0;
    },
    waiting,
  };
}

/** The bucket of the account, whose rate follows the responses, and the buckets of single operations. */
function createRate({ clock, requestsPerSecond = 10, burst = 20, ...options }: GateOptions) {
  const bucketOf = (perMs: number, most: number) =>
    createBucket(perMs, most, options.startsEmpty === true ? 0 : most, clock.monotonic());
  const account = bucketOf(requestsPerSecond / 1000, burst);
  /** The share of `requestsPerSecond` that is allowed now. */
  let share = 1;
  let refusedAt = Number.NEGATIVE_INFINITY;

  function setShare(next: number): void {
    share = Math.min(1, Math.max(RATE.lowest, next));
    const perMs = (requestsPerSecond / 1000) * share;
    const most = share === 1 ? burst : Math.min(burst, Math.max(1, perMs * 1000));
    setRate(account, { perMs, burst: most }, clock.monotonic());
  }

  return {
    account,
    own(operation: Operation): Bucket | undefined {
      const perMinute = options.requestsPerMinute?.[operation];
      return perMinute === undefined ? undefined : bucketOf(perMinute / 60_000, Math.max(1, perMinute / 60));
    },
    refused() {
      const now = clock.monotonic();
      if (now - refusedAt < RATE.oneRefusalMs) return;
      refusedAt = now;
      setShare(share * RATE.decrease);
    },
    succeeded() {
      if (share < 1) setShare(share + RATE.increase);
    },
  };
}

/** The waiting calls of the account. */
function createTurns(clock: Clock, account: Bucket, states: States) {
  const first = createFairQueue<Waiter>();
  const others = createLanedQueue<Waiter>(ROUTINE_EVERY, (_, { group }) => group);
  const waiting = () => first.size() + others.size();
  let asked = 0;
  let cancelWake = () => {};

  function take(state: OperationState, kind: TurnKind, now: number): void {
    takeToken(account, now);
    if (state.own !== undefined) takeToken(state.own, now);
    if (kind === "entering") state.connections.free -= 1;
  }

  /** Lets in calls. A connection that becomes free, or the next token, lets in the next one. */
  function pump(): void {
    cancelWake();
    cancelWake = () => {};
    const now = clock.monotonic();
    const mayGo = ({ state, kind }: Waiter) => hasPlace(state, kind, now);
    while (freeAt(account, now) <= now) {
      const waiter = (first.shift(mayGo) ?? others.shift(mayGo))?.value;
      if (waiter === undefined) break;
      take(waiter.state, waiter.kind, now);
      waiter.state[waiter.kind] -= 1;
      waiter.go();
    }
    if (waiting() === 0) return;
    const wakeAt = nextToken(states, freeAt(account, now), now);
    if (Number.isFinite(wakeAt)) cancelWake = clock.setTimeout(pump, Math.max(1, Math.ceil(wakeAt - now)));
  }

  /** Resolves when the call has a token, and one that enters has a connection. */
  async function turn(operation: Operation, kind: TurnKind, { signal, lane = "urgent", group = "" }: EnterOptions) {
    const state = stateOf(states, operation);
    const now = clock.monotonic();
    signal?.throwIfAborted();
    if (waiting() === 0 && freeAt(account, now) <= now && hasPlace(state, kind, now)) return take(state, kind, now);
    await inLine<void>(signal, (enter) => {
      const key = String(asked++);
      const waiter: Waiter = { state, kind, group: `${operation} ${kind} ${group}`, go: enter };
      state[kind] += 1;
      if (lane === "first") first.push(waiter.group, key, waiter);
      else others.push(lane, key, waiter);
      pump();
      return () => {
        state[kind] -= 1;
        first.remove(key);
        others.remove(key);
        pump();
      };
    });
  }

  return { turn, pump, waiting };
}

/** When the next call that waits for a token has one; infinite: all waiting calls wait for a connection. */
function nextToken(states: States, accountAt: number, now: number): number {
  let next = Number.POSITIVE_INFINITY;
  for (const state of states.values()) {
    for (const kind of KINDS) {
      const at = state[kind] === 0 ? now : Math.max(accountAt, tokenAt(state, kind, now));
      if (at > now) next = Math.min(next, at);
    }
  }
  return next;
}

function stateOf(states: States, operation: Operation): OperationState {
  const state = states.get(operation);
  if (state === undefined) throw new Error(`unknown operation ${operation}`);
  return state;
}

/** Whether the operation lets the next call go, apart from the bucket of the account. */
function hasPlace(state: OperationState, kind: TurnKind, now: number): boolean {
  return tokenAt(state, kind, now) <= now && (kind === "renewing" || state.connections.free > 0);
}

/** Paid calls have connections of their own (transport.ts). */
function createStates(own: (operation: Operation) => Bucket | undefined): States {
  const paid = { free: CONNECTIONS };
  const shared = { free: CONNECTIONS };
  return new Map(
    OPERATION_NAMES.map((operation): [Operation, OperationState] => {
      const connections = OPERATIONS[operation].paid ? paid : shared;
      return [operation, { own: own(operation), connections, pausedUntil: 0, refusals: 0, entering: 0, renewing: 0 }];
    }),
  );
}

/** When the operation's own pause and bucket let the next call go. */
function tokenAt({ own, pausedUntil }: OperationState, kind: TurnKind, now: number): number {
  const ownAt = own === undefined ? now : freeAt(own, now);
  return kind === "renewing" ? ownAt : Math.max(pausedUntil, ownAt);
}
