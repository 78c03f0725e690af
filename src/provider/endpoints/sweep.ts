import { isDeepStrictEqual } from "node:util";
import type { Logger } from "pino";
import type { Clock } from "../../clock.ts";
import { createPollLoop } from "../../poll-loop.ts";
import type { ServiceClient } from "../client.ts";
import type { EndpointRecord } from "./endpoint-record.ts";
import { endpointPages } from "./pages.ts";

/**
 * Everything an account's endpoint list shows, observed by one paged list each `intervalMs` however many endpoints
 * there are. An endpoint that a sweep does not show is gone only after the next one does not show it either: a list
 * that changes while it is paged proves nothing by itself.
 */
export type EndpointSweep = {
  get(id: string): EndpointRecord | undefined;
  /** The records that the service shows with the current key: in its last complete list, or in a read since. */
  shown(): EndpointRecord[];
  byAppName(appName: string): EndpointRecord | undefined;
  /**
   * True when two complete sweeps in a row did not show it; for one that was never seen (since the start), two that
   * began after this was first asked. Lists that were read with another key do not count.
   */
  gone(id: string): boolean;
  /** Stands for the current API key: what was observed in another session proves nothing about what this key can see. */
  session(): KeySession;
  /** The API key is another one now. */
  keyChanged(): void;
  /** Resolves when a sweep has been completed since the start; rejects with the sweep's error or the signal's reason. */
  first(signal: AbortSignal): Promise<void>;
  /** Resolves when a sweep that began after this was called is complete; all who wait share it. Rejects as `first` does. */
  next(signal: AbortSignal): Promise<void>;
  /**
   * Takes over a record that was read alone; what a sweep asked for before is older. A record that was asked for in
   * another session (`askedIn`, default: the current one) is dropped.
   */
  observe(record: EndpointRecord, askedIn?: KeySession): void;
  /** The endpoint was written to: what was asked for before is older. */
  wrote(id: string): void;
  /** As `wrote`; and what is known of it is not given out any more, until it is seen again. */
  forget(id: string): void;
  total(): number;
  /** Every record; undefined until a sweep has been complete. */
  list(): EndpointRecord[] | undefined;
  start(): void;
  stop(): Promise<void>;
};

/** Compared by identity only. */
export type KeySession = symbol;

export type EndpointSweepOptions = {
  client: Pick<ServiceClient, "listEndpoints" | "listEndpointsEarlier">;
  generation: "Current" | "Earlier";
  pageSize: number;
  intervalMs: number;
  clock: Clock;
  log: Logger;
  /** No object depends on the account's endpoints: no call is made. */
  wanted: () => boolean;
  /** A record is new, different or gone. */
  onChange: (id: string, appName: string) => void;
  onError: (error: unknown) => void;
};

const RETRY_MS = 10_000;
const IDLE_MS = 1_000;

export function createEndpointSweep(options: EndpointSweepOptions): EndpointSweep {
  const { clock, log } = options;
  const records = new Map<string, EndpointRecord>();
  const idsByAppName = new Map<string, string>();
  /** Complete lists in a row that did not show the endpoint, with the current key. No entry: the service shows it. */
  const missed = new Map<string, number>();
  let session: KeySession = Symbol("key session");
  let waiters: { resolve: () => void; reject: (error: unknown) => void }[] = [];
  let completed = 0;
  let sweepAt = Number.NEGATIVE_INFINITY;
  let retryAt = Number.NEGATIVE_INFINITY;

  /** When an endpoint was last read or written alone: a page that was asked for before that is older news. */
  const alone = new Map<string, number>();

  /** True when the record tells something new. */
  function observe(record: EndpointRecord): boolean {
    const previous = records.get(record.id);
    missed.delete(record.id);
    if (previous === record) return false;
    records.set(record.id, record); // also when equal: the list gives this very object until something changes
    if (previous !== undefined && isDeepStrictEqual(previous, record)) return false;
    if (record.appName !== "") idsByAppName.set(record.appName, record.id);
    return true;
  }

  /** A list during which the key changes shows parts of two views: it proves nothing and is read again. */
  async function sweepOnce(signal: AbortSignal): Promise<void> {
    let whole = false;
    while (!whole) whole = await readList(signal);
    completed++;
  }

  /** False when the key changed meanwhile. */
  async function readList(signal: AbortSignal): Promise<boolean> {
    const askedIn = session;
    const seen = new Set<string>();
    const askedBefore = [...missed.keys()];
    const began = clock.monotonic();
    for await (const { record, askedAt } of endpointPages(options, signal)) {
      if (session !== askedIn) return false;
      seen.add(record.id);
      if ((alone.get(record.id) ?? Number.NEGATIVE_INFINITY) > askedAt) continue;
      if (observe(record)) options.onChange(record.id, record.appName);
    }
    if (session !== askedIn) return false;
    for (const [id, at] of alone) if (at < began) alone.delete(id);
    for (const id of new Set([...records.keys(), ...askedBefore])) {
      if (seen.has(id)) continue;
      const times = (missed.get(id) ?? 0) + 1;
      missed.set(id, times);
      if (times !== 2) continue;
      const { appName = "" } = records.get(id) ?? {};
      records.delete(id);
      if (idsByAppName.get(appName) === id) idsByAppName.delete(appName);
      options.onChange(id, appName);
    }
    return true;
  }

  const loop = createPollLoop({
    clock,
    what: "the account's endpoints",
    dueInMs() {
      const now = clock.monotonic();
      if (retryAt > now) return retryAt - now;
      if (waiters.length > 0) return 0;
      return options.wanted() ? sweepAt - now : IDLE_MS;
    },
    async poll(signal) {
      const group = waiters;
      waiters = [];
      try {
        await sweepOnce(signal);
        for (const waiter of group) waiter.resolve();
        sweepAt = clock.monotonic() + options.intervalMs;
      } catch (error) {
        if (signal.aborted) return;
        for (const waiter of group) waiter.reject(error);
        log.warn({ reason: String(error) }, "endpoints could not be listed");
        options.onError(error);
        retryAt = clock.monotonic() + RETRY_MS;
        sweepAt = retryAt;
      }
    },
  });

  function next(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      waiters.push({ resolve, reject });
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      loop.signal.addEventListener("abort", () => reject(loop.signal.reason), { once: true });
    });
  }

  return {
    get: (id) => records.get(id),
    byAppName(appName) {
      const id = idsByAppName.get(appName);
      return id === undefined ? undefined : records.get(id);
    },
    gone(id) {
      if (!records.has(id) && !missed.has(id)) missed.set(id, 0);
      return (missed.get(id) ?? 0) >= 2;
    },
    shown: () => [...records.values()].filter(({ id }) => !missed.has(id)),
    session: () => session,
    keyChanged() {
      session = Symbol("key session");
      missed.clear();
      for (const id of records.keys()) missed.set(id, 0);
    },
    total: () => records.size,
    list: () => (completed > 0 ? [...records.values()] : undefined),
    observe(record, askedIn = session) {
      if (askedIn !== session) return;
      alone.set(record.id, clock.monotonic());
      observe(record);
    },
    wrote: (id) => void alone.set(id, clock.monotonic()),
    forget(id) {
      alone.set(id, clock.monotonic());
      records.delete(id);
    },
    first: async (signal) => (completed > 0 ? undefined : next(signal)),
    next,
    start: loop.start,
    stop: loop.stop,
  };
}
