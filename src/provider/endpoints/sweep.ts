import { isDeepStrictEqual } from "node:util";
import type { Logger } from "pino";
import { type Clock, delay } from "../../clock.ts";
import type { ServiceClient } from "../client.ts";
import type { EndpointObserver } from "../types.ts";
import type { EndpointRecord } from "./endpoint-record.ts";
import { endpointPages, type Generation } from "./pages.ts";

/** The observer with what its owner does to it. */
export type EndpointSweep = EndpointObserver & {
  /** Takes over a record of a single read. It is newer than every page that was requested before. */
  observe(record: EndpointRecord): void;
  /** The endpoint was written to: pages and reads from before are outdated. */
  wrote(id: string): void;
  /** As `wrote`; and the record is not returned until it is observed again. */
  forget(id: string): void;
  start(): void;
  stop(): Promise<void>;
};

export type EndpointSweepOptions = {
  client: Pick<ServiceClient, "listEndpoints" | "listEndpointsEarlier">;
  generation: Generation;
  pageSize: number;
  intervalMs: number;
  clock: Clock;
  log: Logger;
  /** Whether the list is needed: false makes no call. */
  wanted: () => boolean;
  /** An endpoint is new, changed or gone. */
  onChange: (id: string, appName: string) => void;
  onError: (error: unknown) => void;
};

const RETRY_MS = 10_000;
const IDLE_MS = 1_000;

export function createEndpointSweep(options: EndpointSweepOptions): EndpointSweep {
  const { clock, log } = options;
  const records = new Map<string, EndpointRecord>();
  const idsByAppName = new Map<string, string>();
  const missed = new Map<string, number>();
  const ended = new AbortController();
  let waiters: { resolve: () => void; reject: (error: unknown) => void }[] = [];
  let completed = 0;
  let running: Promise<void> | undefined;

  /** When an endpoint was last read or written on its own (monotonic ms): a page requested before that is outdated. */
  const alone = new Map<string, number>();

  /** Returns whether the record is new or changed. */
  function observe(record: EndpointRecord): boolean {
    const previous = records.get(record.id);
    missed.delete(record.id);
    if (previous === record) return false;
    records.set(record.id, record); // also when equal: the list returns this object until the endpoint changes
    if (previous !== undefined && isDeepStrictEqual(previous, record)) return false;
    if (record.appName !== "") idsByAppName.set(record.appName, record.id);
    return true;
  }

  async function sweepOnce(): Promise<void> {
    const seen = new Set<string>();
    const askedBefore = [...missed.keys()];
    const began = clock.monotonic();
    for await (const { record, askedAt } of endpointPages(options, ended.signal)) {
      seen.add(record.id);
      if ((alone.get(record.id) ?? Number.NEGATIVE_INFINITY) > askedAt) continue;
      if (observe(record)) options.onChange(record.id, record.appName);
    }
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
    completed++;
  }

  async function run(): Promise<void> {
    while (!ended.signal.aborted) {
      if (!options.wanted() && waiters.length === 0) {
        await delay(clock, IDLE_MS, ended.signal);
        continue;
      }
      const group = waiters;
      waiters = [];
      try {
        await sweepOnce();
        for (const waiter of group) waiter.resolve();
        await pause(options.intervalMs);
      } catch (error) {
        if (ended.signal.aborted) return;
        for (const waiter of group) waiter.reject(error);
        log.warn({ reason: String(error) }, "endpoints could not be listed");
        options.onError(error);
        await delay(clock, RETRY_MS, ended.signal);
      }
    }
  }

  /** Ends early when a caller waits for a list. */
  async function pause(ms: number): Promise<void> {
    const until = clock.monotonic() + ms;
    while (clock.monotonic() < until && waiters.length === 0 && !ended.signal.aborted) {
      await delay(clock, Math.min(IDLE_MS, until - clock.monotonic()), ended.signal);
    }
  }

  function next(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      waiters.push({ resolve, reject });
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      ended.signal.addEventListener("abort", () => reject(ended.signal.reason), { once: true });
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
    total: () => records.size,
    list: () => (completed > 0 ? [...records.values()] : undefined),
    observe(record) {
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
    start() {
      running ??= run();
    },
    async stop() {
      ended.abort(new Error("the session of the account is closed"));
      await running;
    },
  };
}
