import type { Logger } from "pino";
import { type Clock, delay } from "../base/clock.ts";
import { type KubeClient, type KubeQuery, ListTooLargeError } from "../kube/client.ts";
import { errorFromEvent, isGone, KubeError } from "../kube/errors.ts";
import { RestoredError } from "../kube/etcd-history.ts";
import type { Resource } from "../kube/resource.ts";
import { isLaterVersion, type KubeObject, keyOf, type WatchEvent } from "../kube/types.ts";
import { backoffDelay } from "./backoff.ts";
import { assertNotEarlier, createOvertaken } from "./list-age.ts";
import type { Slices } from "./slices.ts";

export type ReflectorSink<T> = {
  /** One object of a list. Returns the version that is stored of it. */
  listed(object: T): string | undefined;
  /** The list is whole: whatever is not in `keys` is gone. */
  listEnded(keys: ReadonlySet<string>): void;
  changed(type: "ADDED" | "MODIFIED" | "DELETED", object: T): void;
};

export type ReflectorOptions<T extends KubeObject> = {
  client: KubeClient;
  resource: Resource;
  /** Only this namespace; undefined for all. */
  namespace?: string | undefined;
  selector?: KubeQuery;
  sink: ReflectorSink<T>;
  clock: Clock;
  random: () => number;
  log: Logger;
  onRelist?: () => void;
  /** Between the objects of a list and the events of a watch. Default: none. */
  slices?: Slices | undefined;
  /**
   * A list is older than what this reflector has seen: etcd was restored from a backup, or the API server lags behind another one. The
   * reflector has ended, because what it and others remember cannot be corrected. Only a new process can.
   */
  onRestored?: ((error: RestoredError) => void) | undefined;
};

/**
 * The reflector's whole memory: what it does next depends on nothing else.
 * `Stream`: a consistent list as the beginning of a watch (sendInitialEvents). `List`: the same in pages, for servers
 * that have no streaming lists. `Watch`: changes since a version.
 */
export type ReflectorState =
  | { phase: "Stream" }
  | { phase: "List" }
  | { phase: "Watch"; resourceVersion: string; resync: "Stream" | "List" };

const PAGE_SIZE = 500;
/** A page is asked for again with fewer objects when it has more bytes. An object has fewer, whatever its owner writes. */
const PAGE_BYTES = 8 * 1024 * 1024;
const SMALLER_PAGE = 8;
/** Bookmarks come every 60 s, so a silent stream of this length is a dead one. */
const INACTIVITY_MS = 100_000;
const MIN_WATCH_SECONDS = 300;
const SHORT_WATCH_MS = 1_000;
const HEALTHY_MS = 120_000;
const BACKOFF = { baseMs: 800, capMs: 30_000, jitter: 1 };
/** An API server that starts answers 429 with Retry-After: not worth a warning so often in a row. */
const LOGGED_AFTER = 10;
const RETRY_JITTER = 0.2;

/** Marks the bookmark that ends a streaming list (KEP-3157). */
const INITIAL_EVENTS_END = "k8s.io/initial-events-end";

/**
 * Keeps a sink equal to a collection of the API server until `signal` aborts.
 *
 * Expected flow: a consistent list, streamed where the server can (no page of it is ever held in memory, here or there)
 * and in pages of 500 where it cannot; then watches that resume from the last version seen. A new list only when the server says that the version is gone (410, as a status or in the stream) or too large. Every failure
 * backs off (0.8 s to 30 s, doubled, jittered; forgotten after two healthy minutes), or waits as Retry-After asks if that is longer.
 */
export async function runReflector<T extends KubeObject>(
  options: ReflectorOptions<T>,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log, resource } = options;
  let state: ReflectorState = { phase: "Stream" };
  /** The latest version that a list or a watch has shown. */
  let latest: string | undefined;
  let failures = 0;
  let healthySince = clock.monotonic();
  while (!signal.aborted) {
    const started = clock.monotonic();
    const watched: Watched = await step(options, state, latest, signal);
    if (isDoubtful(watched.error)) watched.error = await checked(options, watched.error, latest, signal);
    if (signal.aborted) return;
    if (watched.error instanceof RestoredError) return options.onRestored?.(watched.error);
    latest = later(latest, watched.resourceVersion);
    const next = nextState(state, watched);
    const fallsBack = state.phase === "Stream" && next.phase === "List";
    state = next;
    if (fallsBack) continue; // happens once, and is no failure
    const lasted = clock.monotonic() - started;
    if (clock.monotonic() - healthySince >= HEALTHY_MS) failures = 0;
    if (watched.error === undefined && (lasted >= SHORT_WATCH_MS || watched.events > 0)) continue;
    // A long watch whose version has grown too old is no trouble: the next list may come at once.
    if (isGone(watched.error) && lasted >= SHORT_WATCH_MS) continue;
    failures++;
    const { retryAfterMs = 0 } = watched.error instanceof KubeError ? watched.error : {};
    const asked = retryAfterMs > 0 && failures <= LOGGED_AFTER;
    if (watched.error !== undefined) {
      const reason = String(watched.error);
      const line = { resource: resource.plural, next: state.phase, failures, reason };
      log[asked ? "debug" : "warn"](line, "watch interrupted");
    }
    const backoffMs = backoffDelay(failures, { ...BACKOFF, random: options.random });
    const askedMs = retryAfterMs + RETRY_JITTER * retryAfterMs * options.random();
    await delay(clock, Math.max(backoffMs, askedMs), signal);
    healthySince = clock.monotonic();
  }
}

function step<T extends KubeObject>(
  options: ReflectorOptions<T>,
  state: ReflectorState,
  latest: string | undefined,
  signal: AbortSignal,
): Promise<Watched> {
  if (state.phase === "Watch") return watchOnce(options, state.resourceVersion, signal);
  options.onRelist?.();
  return state.phase === "Stream" ? watchOnce(options, undefined, signal, latest) : listAll(options, latest, signal);
}

/** Whether a failed watch may mean that the API server went back in time: it does not know the version, or it stays silent. */
function isDoubtful(error: unknown): boolean {
  if (error instanceof KubeError) return isTooLarge(error);
  return error instanceof Error && "code" in error && error.code === "UND_ERR_BODY_TIMEOUT";
}

/**
 * The error of a doubtful watch, or a RestoredError: a list shows the version of the API server. A watch from a later version
 * than this shows nothing, for as long as it takes to get there.
 */
async function checked<T extends KubeObject>(
  options: ReflectorOptions<T>,
  doubtful: unknown,
  latest: string | undefined,
  signal: AbortSignal,
): Promise<unknown> {
  const { client, resource, namespace, selector, log } = options;
  try {
    const query = { ...selector, limit: 1 };
    const { metadata } = await client.list<T>(resource, { namespace }, { signal, query });
    assertNotEarlier(options.resource, metadata.resourceVersion, latest);
  } catch (error) {
    if (error instanceof RestoredError) return error;
    log.debug({ resource: resource.plural, reason: String(error) }, "the version of the API server was not read");
  }
  return doubtful;
}

/** What follows from a step. Pure. */
export function nextState(state: ReflectorState, { resourceVersion, error }: Watched): ReflectorState {
  const resync = state.phase === "Watch" ? state.resync : state.phase;
  if (error !== undefined && isTooOld(error)) return { phase: resync };
  // The server does not know streaming lists: from now on in pages.
  if (state.phase === "Stream" && resourceVersion === undefined && isRefused(error)) return { phase: "List" };
  if (resourceVersion !== undefined) return { phase: "Watch", resourceVersion, resync };
  return state;
}

function isRefused(error: unknown): boolean {
  return error instanceof KubeError && error.status >= 400 && error.status < 500 && error.status !== 429;
}

/** Only a version that the server cannot serve any more makes a new list necessary. */
function isTooOld(error: unknown): boolean {
  return isGone(error) || isTooLarge(error);
}

function isTooLarge(error: unknown): boolean {
  return error instanceof KubeError && /too large resource version/i.test(error.message);
}

/** `resourceVersion`: where to go on; undefined when a list has not come to its end. */
export type Watched = { resourceVersion: string | undefined; events: number; error?: unknown };

async function listAll<T extends KubeObject>(
  options: ReflectorOptions<T>,
  latest: string | undefined,
  signal: AbortSignal,
): Promise<Watched> {
  const keys = new Set<string>();
  const overtaken = createOvertaken<T>(options.resource);
  let next: string | undefined;
  let resourceVersion: string | undefined;
  let limit = PAGE_SIZE;
  try {
    for (let isComplete = false; !isComplete; ) {
      const query = { ...options.selector, limit, continue: next };
      const page = await boundedPage(options, query, signal);
      if (page === undefined) {
        limit = Math.max(1, Math.floor(limit / SMALLER_PAGE));
        continue;
      }
      assertNotEarlier(options.resource, page.metadata.resourceVersion, latest);
      for (const object of page.items) {
        keys.add(keyOf(object));
        overtaken.observe(object, options.sink.listed(object));
        await options.slices?.end();
      }
      overtaken.assertNone(page.metadata.resourceVersion);
      next = page.metadata.continue || undefined;
      resourceVersion = page.metadata.resourceVersion;
      isComplete = next === undefined;
    }
  } catch (error) {
    return { resourceVersion: undefined, events: keys.size, error };
  }
  options.sink.listEnded(keys);
  return { resourceVersion: resourceVersion ?? "", events: keys.size + 1 };
}

/** Undefined: it is too large. One object always fits. */
async function boundedPage<T extends KubeObject>(
  { client, resource, namespace }: ReflectorOptions<T>,
  query: KubeQuery & { limit: number },
  signal: AbortSignal,
) {
  try {
    const maxBytes = query.limit === 1 ? Number.POSITIVE_INFINITY : PAGE_BYTES;
    return await client.list<T>(resource, { namespace }, { signal, query, maxBytes });
  } catch (error) {
    if (error instanceof ListTooLargeError) return undefined;
    throw error;
  }
}

/** One watch: from a version, or (`from` undefined) beginning with a streamed list. `latest`: the latest version before. */
async function watchOnce<T extends KubeObject>(
  options: ReflectorOptions<T>,
  from: string | undefined,
  signal: AbortSignal,
  latest?: string,
): Promise<Watched> {
  const watched: Watched = { resourceVersion: from, events: 0 };
  const keys = from === undefined ? new Set<string>() : undefined;
  const overtaken = createOvertaken<T>(options.resource);
  const start =
    from === undefined ? { sendInitialEvents: true, resourceVersionMatch: "NotOlderThan" } : { resourceVersion: from };
  try {
    const stream = options.client.watch(
      options.resource,
      { namespace: options.namespace },
      {
        signal,
        inactivityMs: INACTIVITY_MS,
        query: {
          ...options.selector,
          ...start,
          allowWatchBookmarks: true,
          timeoutSeconds: Math.round(MIN_WATCH_SECONDS * (1 + options.random())),
        },
      },
    );
    for await (const line of stream) {
      const event = JSON.parse(line) as WatchEvent<T>;
      if (event.type === "ERROR") throw errorFromEvent(`watch ${options.resource.plural}`, event.object);
      await options.slices?.end();
      watched.events++;
      if (keys !== undefined && watched.resourceVersion === undefined) {
        if (!isEndOfList(event)) {
          overtaken.observe(event.object, takeInitial(options.sink, event, keys));
          continue;
        }
        const { resourceVersion } = event.object.metadata;
        assertNotEarlier(options.resource, resourceVersion, latest);
        overtaken.assertNone(resourceVersion);
        options.sink.listEnded(keys);
      } else if (event.type !== "BOOKMARK") options.sink.changed(event.type, event.object);
      watched.resourceVersion = later(watched.resourceVersion, event.object.metadata.resourceVersion);
    }
  } catch (error) {
    watched.error = error;
  }
  return watched;
}

/** A version never goes back: a watch from an earlier one would show objects again that are gone. */
function later(known: string | undefined, told: string | undefined): string | undefined {
  if (known === undefined || told === undefined) return told ?? known;
  return isLaterVersion(told, known) ? told : known;
}

type SoundEvent<T> = Exclude<WatchEvent<T>, { type: "ERROR" }>;

function isEndOfList<T extends KubeObject>({ type, object }: SoundEvent<T>): boolean {
  return type === "BOOKMARK" && object.metadata.annotations?.[INITIAL_EVENTS_END] === "true";
}

/** An event of a streamed list before its end. Returns the version that is stored of the object. */
function takeInitial<T extends KubeObject>(
  sink: ReflectorSink<T>,
  { type, object }: SoundEvent<T>,
  keys: Set<string>,
): string | undefined {
  if (type === "BOOKMARK") return undefined;
  if (type !== "DELETED") {
    keys.add(keyOf(object));
    return sink.listed(object);
  }
  keys.delete(keyOf(object));
  sink.changed("DELETED", object);
  return undefined;
}
