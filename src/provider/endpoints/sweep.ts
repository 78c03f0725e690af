import type { Logger } from "pino";
import { type Clock, delay } from "../../clock.ts";
import type { ServiceClient } from "../client.ts";
import type { EndpointObserver } from "../types.ts";
import { createEndpointIndex } from "./endpoint-index.ts";
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

type Waiter = { resolve: () => void; reject: (error: unknown) => void };

export function createEndpointSweep(options: EndpointSweepOptions): EndpointSweep {
  const { clock, log } = options;
  const index = createEndpointIndex(clock);
  const ended = new AbortController();
  let waiters = new Set<Waiter>();
  let completed = 0;
  let running: Promise<void> | undefined;

  async function sweepOnce(): Promise<void> {
    const listing = index.beginList();
    for await (const { record, askedAt } of endpointPages(options, ended.signal)) {
      if (listing.take(record, askedAt)) options.onChange(record.id, record.appName);
    }
    for (const { id, appName } of listing.end()) options.onChange(id, appName);
    completed++;
  }

  async function run(): Promise<void> {
    while (!ended.signal.aborted) {
      if (!options.wanted() && waiters.size === 0) {
        await delay(clock, IDLE_MS, ended.signal);
        continue;
      }
      const group = waiters;
      waiters = new Set();
      try {
        await sweepOnce();
        for (const { resolve } of group) resolve();
        await pause(options.intervalMs);
      } catch (error) {
        for (const { reject } of group) reject(ended.signal.aborted ? ended.signal.reason : error);
        if (ended.signal.aborted) return;
        log.warn({ reason: String(error) }, "endpoints could not be listed");
        options.onError(error);
        await delay(clock, RETRY_MS, ended.signal);
      }
    }
  }

  /** Ends early when a caller waits for a list. */
  async function pause(ms: number): Promise<void> {
    const until = clock.monotonic() + ms;
    while (clock.monotonic() < until && waiters.size === 0 && !ended.signal.aborted) {
      await delay(clock, Math.min(IDLE_MS, until - clock.monotonic()), ended.signal);
    }
  }

  async function next(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    ended.signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter = { resolve, reject };
    const onAbort = () => {
      waiters.delete(waiter);
      reject(signal.reason);
    };
    waiters.add(waiter);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      await promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  return {
    get: index.get,
    byAppName: index.byAppName,
    gone: index.gone,
    total: index.size,
    list: () => (completed > 0 ? index.all() : undefined),
    observe: index.observe,
    wrote: index.wrote,
    forget: index.forget,
    first: async (signal) => (completed > 0 ? undefined : next(signal)),
    next,
    start() {
      running ??= run();
    },
    async stop() {
      ended.abort(new Error("the session of the account is closed"));
      for (const { reject } of waiters) reject(ended.signal.reason);
      await running;
    },
  };
}
