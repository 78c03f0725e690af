import type { Logger } from "pino";
import { type Clock, delay, inLine } from "../../base/clock.ts";
import { createPollLoop } from "../../base/schedule.ts";
import type { ServiceClient } from "../client.ts";
import { isGivenUp, ServiceError } from "../errors.ts";
import type { EndpointObserver } from "../types.ts";
import { createEndpointIndex, type KeySession } from "./endpoint-index.ts";
import type { EndpointRecord } from "./endpoint-record.ts";
import { EXPECTED, endpointPages, type Generation, incomplete } from "./pages.ts";
import { type AccountRecords, createRecordBudget } from "./record-budget.ts";

/** The observer for its owner. */
export type EndpointSweep = EndpointObserver & {
  /** The API key changed: begins a session. Absence that another key showed does not count any more. */
  keyChanged(): void;
  /**
   * Takes over a record of a single read. It is newer than every page that was requested before. Drops a record that was
   * requested in another session (default: the current one).
   */
  observe(record: EndpointRecord, requestedIn?: KeySession): void;
  /** The endpoint was written to: pages and reads from before are outdated. */
  wrote(id: string): void;
  /** As `wrote`; and the record is not returned until it is observed again. */
  forget(id: string): void;
  /** A read does not find the endpoint: as `forget`. Lists decide whether it is gone. */
  notFound(id: string): void;
  start(): void;
  stop(): Promise<void>;
};

export type EndpointSweepOptions = {
  client: Pick<ServiceClient, "listEndpoints" | "listEndpointsEarlier">;
  /** Which generation of the list and read operations is used. Create and update exist in one generation only. */
  generation: Generation;
  /** Endpoints per page, 1 to 1000. */
  pageSize: number;
  /** How often the list is read. */
  intervalMs: number;
  clock: Clock;
  log: Logger;
  /** Whether the list is needed: false makes no call. */
  wanted: () => boolean;
  /** How many endpoints are known to exist: the limits of a list grow with them. */
  expected: () => number;
  /** Memory for the records of all accounts. Default: a budget of this list alone. */
  records?: AccountRecords | undefined;
  /** An endpoint is new, changed or gone. */
  onChange: (id: string, appName: string) => void;
  /** A list is the first to lack an endpoint, which proves nothing: a read tells more. Default: nothing. */
  onMissing?: ((id: string, appName: string) => void) | undefined;
  /** A list is complete: the index has all of it. Default: nothing. */
  onListed?: (() => void) | undefined;
  onError: (error: unknown) => void;
};

/** Longest wait of a reconcile for the first list: a waiting reconcile occupies a worker. */
const FIRST_LIST_MS = 10_000;
const NO_ROOM =
  "the endpoints of all accounts take the memory that the operator has for them, and this account has more than an equal part";
const RETRY_MS = 10_000;
/** Pauses after unreadable lists grow: each response costs memory and time. */
const MAX_RETRY_MS = 10 * 60_000;
const IDLE_MS = 1_000;

function isUnreadable(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.kind === "UnreadableResponse";
}

/** An open circuit breaker is the consequence of unreadable lists. Any other error ends the series. */
function unreadableAfter(before: { error: ServiceError; times: number } | undefined, error: unknown) {
  if (!(error instanceof ServiceError)) return undefined;
  if (error.kind === "BreakerOpen" && before !== undefined) return { ...before, times: before.times + 1 };
  return isUnreadable(error) ? { error, times: (before?.times ?? 0) + 1 } : undefined;
}

type SweepWaiter = { resolve: () => void; reject: (error: unknown) => void };

export function createEndpointSweep(options: EndpointSweepOptions): EndpointSweep {
  const { clock, log } = options;
  const { all, size, weight, beginList, ...observed } = createEndpointIndex(clock);
  const share = (options.records ?? createRecordBudget().open()).share();
  /** Who waits for a list that begins from now on. */
  let waiters = new Set<SweepWaiter>();
  /** Who waits for any complete list. */
  const firsts = new Set<SweepWaiter>();
  let completed = 0;
  let started = false;
  /** Aborts when the first list since the start has ended, complete or not. */
  const firstAttempt = new AbortController();
  let sweepAt = Number.NEGATIVE_INFINITY;
  let retryAt = Number.NEGATIVE_INFINITY;
  /** The last list could not be read, `times` in a row. */
  let unreadable: { error: ServiceError; times: number } | undefined;

  /** Counts the records. Those of endpoints that objects are bound to always fit: `expected` of them. */
  const fits = (expected: number) => share(Math.max(0, weight() - EXPECTED.weight * expected));

  /** A list during which the key changes shows parts of two views: it proves nothing and is read again. */
  async function sweepOnce(signal: AbortSignal): Promise<void> {
    let whole = false;
    while (!whole) whole = await readList(signal);
    completed++;
    options.onListed?.();
  }

  /** Returns false when the key changed meanwhile. */
  async function readList(signal: AbortSignal): Promise<boolean> {
    const session = observed.session();
    const listing = beginList();
    // Counting iterates over all objects of the account: once for a list, and once more before it is given up.
    let expected = options.expected();
    try {
      const pages = endpointPages({ ...options, known: observed.get, expected }, signal);
      for await (const { record, askedAt } of pages) {
        if (observed.session() !== session) return false;
        if (!fits(expected)) {
          expected = options.expected();
          if (!fits(expected)) throw incomplete(NO_ROOM);
        }
        if (listing.take(record, askedAt)) options.onChange(record.id, record.appName);
      }
    } catch (error) {
      if (isUnreadable(error)) {
        listing.discard();
        fits(options.expected());
      }
      throw error;
    }
    if (observed.session() !== session) return false;
    const { gone, missing } = listing.end();
    for (const { id, appName } of missing) options.onMissing?.(id, appName);
    for (const { id, appName } of gone) options.onChange(id, appName);
    return true;
  }

  const loop = createPollLoop({
    clock,
    stopReason: "the session of the account is closed",
    dueInMs() {
      const now = clock.monotonic();
      if (retryAt > now) return retryAt - now;
      if (waiters.size + firsts.size > 0) return 0;
      return options.wanted() ? sweepAt - now : IDLE_MS;
    },
    async poll(signal) {
      const group = waiters;
      waiters = new Set();
      const ended = () => {
        const all = [...group, ...firsts];
        firsts.clear();
        return all;
      };
      try {
        await sweepOnce(signal);
        for (const { resolve } of ended()) resolve();
        sweepAt = clock.monotonic() + options.intervalMs;
        unreadable = undefined;
        firstAttempt.abort();
      } catch (error) {
        for (const { reject } of ended()) reject(signal.aborted ? signal.reason : error);
        if (signal.aborted) return;
        firstAttempt.abort();
        log[isGivenUp(error) ? "debug" : "warn"]({ reason: String(error) }, "endpoints could not be listed");
        options.onError(error);
        unreadable = unreadableAfter(unreadable, error);
        retryAt = clock.monotonic() + Math.min(MAX_RETRY_MS, RETRY_MS * 2 ** Math.max(0, (unreadable?.times ?? 1) - 1));
        sweepAt = retryAt;
      }
    },
  });

  async function waitIn(line: () => Set<SweepWaiter>, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    loop.signal.throwIfAborted();
    // A reconcile that waits occupies a worker, which objects of other accounts need.
    if (unreadable !== undefined && unreadable.times > 1 && retryAt > clock.monotonic()) throw unreadable.error;
    await inLine<void>(signal, (resolve, reject) => {
      const waiter = { resolve, reject };
      const joined = line().add(waiter);
      loop.wake();
      return () => joined.delete(waiter);
    });
  }

  return {
    ...observed,
    failure: () => unreadable?.error.message,
    total: size,
    list: () => (completed > 0 ? all() : undefined),
    first: async (signal) => (completed > 0 ? undefined : waitIn(() => firsts, signal)),
    async firstEnded(signal) {
      if (!started || firstAttempt.signal.aborted || !options.wanted()) return;
      loop.wake(); // it may pause since before a list was needed
      await delay(clock, FIRST_LIST_MS, AbortSignal.any([signal, firstAttempt.signal, loop.signal]));
      signal.throwIfAborted();
    },
    next: (signal) => waitIn(() => waiters, signal),
    start() {
      started = true;
      loop.start();
    },
    async stop() {
      const stopped = loop.stop();
      for (const { reject } of [...waiters, ...firsts]) reject(loop.signal.reason);
      await stopped;
    },
  };
}
