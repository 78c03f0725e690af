import type { Logger } from "pino";
import { type Clock, delay } from "../clock.ts";
import type { KubeClient, Query } from "../kube/client.ts";
import { errorFromEvent, isGone, KubeError } from "../kube/errors.ts";
import type { Resource } from "../kube/resource.ts";
import type { KubeObject, WatchEvent } from "../kube/types.ts";
import { backoffDelay } from "./backoff.ts";
import { keyOf } from "./store.ts";

export type ReflectorSink<T> = {
  /** One object of a list page. */
  listed(object: T): void;
  /** The list is whole: whatever is not in `keys` is gone. */
  listEnded(keys: ReadonlySet<string>): void;
  changed(type: "ADDED" | "MODIFIED" | "DELETED", object: T): void;
};

export type ReflectorOptions<T extends KubeObject> = {
  client: KubeClient;
  resource: Resource;
  /** Only this namespace; undefined for all. */
  namespace?: string | undefined;
  selector?: Query;
  sink: ReflectorSink<T>;
  clock: Clock;
  random: () => number;
  log: Logger;
  onRelist?: () => void;
};

/** The reflector's whole memory: what it does next depends on nothing else. */
export type ReflectorState = { phase: "List" } | { phase: "Watch"; resourceVersion: string };

const PAGE_SIZE = 500;
/** Bookmarks come every 60 s, so a silent stream of this length is a dead one. */
const INACTIVITY_MS = 100_000;
const MIN_WATCH_SECONDS = 300;
const SHORT_WATCH_MS = 1_000;
const HEALTHY_MS = 120_000;
const BACKOFF = { baseMs: 800, capMs: 30_000, jitter: 1 };

/**
 * Keeps a sink equal to a collection of the API server until `signal` aborts.
 *
 * Expected flow: a consistent list in pages of 500, then watches that resume from the last version seen. A new list
 * only when the server says that the version is gone (410, as a status or in the stream) or too large. Every failure
 * backs off (0.8 s to 30 s, doubled, jittered; forgotten after two healthy minutes); Retry-After is honoured.
 */
export async function runReflector<T extends KubeObject>(
  options: ReflectorOptions<T>,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log, resource } = options;
  let state: ReflectorState = { phase: "List" };
  let failures = 0;
  let healthySince = clock.monotonic();
  while (!signal.aborted) {
    const started = clock.monotonic();
    try {
      if (state.phase === "List") {
        options.onRelist?.();
        state = { phase: "Watch", resourceVersion: await listAll(options, signal) };
        continue;
      }
      const watched: Watched = await watchOnce(options, state.resourceVersion, signal);
      state = { phase: "Watch", resourceVersion: watched.resourceVersion };
      if (watched.error !== undefined) throw watched.error;
      const short = clock.monotonic() - started < SHORT_WATCH_MS && watched.events === 0;
      if (!short) {
        if (clock.monotonic() - healthySince >= HEALTHY_MS) failures = 0;
        continue;
      }
      failures++;
    } catch (error) {
      if (signal.aborted) return;
      state = afterError(state, error);
      if (isGone(error) && clock.monotonic() - started >= SHORT_WATCH_MS) continue;
      failures++;
      log.warn({ resource: resource.plural, phase: state.phase, failures, reason: String(error) }, "watch interrupted");
      if (error instanceof KubeError && error.retryAfterMs !== undefined) {
        await delay(clock, error.retryAfterMs, signal);
      }
    }
    await delay(clock, backoffDelay(failures, { ...BACKOFF, random: options.random }), signal);
    healthySince = clock.monotonic();
  }
}

/** Only a version that the server cannot serve any more makes a new list necessary. */
export function afterError(state: ReflectorState, error: unknown): ReflectorState {
  if (isGone(error)) return { phase: "List" };
  if (error instanceof KubeError && /too large resource version/i.test(error.message)) return { phase: "List" };
  return state;
}

async function listAll<T extends KubeObject>(options: ReflectorOptions<T>, signal: AbortSignal): Promise<string> {
  const keys = new Set<string>();
  let next: string | undefined;
  let resourceVersion = "";
  do {
    const page = await options.client.list<T>(
      options.resource,
      { namespace: options.namespace },
      { signal, query: { ...options.selector, limit: PAGE_SIZE, continue: next } },
    );
    for (const object of page.items) {
      keys.add(keyOf(object));
      options.sink.listed(object);
    }
    next = page.metadata.continue || undefined;
    resourceVersion = page.metadata.resourceVersion ?? "";
  } while (next !== undefined && !signal.aborted);
  signal.throwIfAborted();
  options.sink.listEnded(keys);
  return resourceVersion;
}

type Watched = { resourceVersion: string; events: number; error?: unknown };

async function watchOnce<T extends KubeObject>(
  options: ReflectorOptions<T>,
  from: string,
  signal: AbortSignal,
): Promise<Watched> {
  const watched: Watched = { resourceVersion: from, events: 0 };
  try {
    const stream = options.client.watch(
      options.resource,
      { namespace: options.namespace },
      {
        signal,
        inactivityMs: INACTIVITY_MS,
        query: {
          ...options.selector,
          allowWatchBookmarks: true,
          resourceVersion: from,
          timeoutSeconds: Math.round(MIN_WATCH_SECONDS * (1 + options.random())),
        },
      },
    );
    for await (const line of stream) {
      const event = JSON.parse(line) as WatchEvent<T>;
      if (event.type === "ERROR") throw errorFromEvent(`watch ${options.resource.plural}`, event.object);
      watched.events++;
      if (event.type !== "BOOKMARK") options.sink.changed(event.type, event.object);
      watched.resourceVersion = event.object.metadata.resourceVersion ?? watched.resourceVersion;
    }
  } catch (error) {
    watched.error = error;
  }
  return watched;
}
