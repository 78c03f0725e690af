import { delay } from "../base/clock.ts";
import { isGone, KubeError } from "../kube/errors.ts";
import { RestoredError } from "../kube/etcd-history.ts";
import type { KubeObject } from "../kube/types.ts";
import { backoffDelay } from "./backoff.ts";
import { assertNotEarlier } from "./list-age.ts";
import { later, listAll, type ReflectorOptions, type Watched, watchOnce } from "./list-watch.ts";

/**
 * The whole state of the reflector: nothing else decides its next step.
 * `Stream`: a consistent list as the beginning of a watch (sendInitialEvents). `List`: the same in pages, for servers
 * that have no streaming lists. `Watch`: changes since a version.
 */
export type ReflectorState =
  | { phase: "Stream" }
  | { phase: "List" }
  | { phase: "Watch"; resourceVersion: string; resync: "Stream" | "List" };

const SHORT_WATCH_MS = 1_000;
const HEALTHY_MS = 120_000;
const BACKOFF = { baseMs: 800, capMs: 30_000, jitter: 1 };
/** A starting API server answers 429 with Retry-After: so many in a row cause no warning. */
const LOGGED_AFTER = 10;
const RETRY_JITTER = 0.2;

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
  let renewal = options.renewal?.();
  while (!signal.aborted) {
    const started = clock.monotonic();
    // Asked for during the last step, or during the pause after it.
    if (renewal?.aborted) {
      state = { phase: state.phase === "Watch" ? state.resync : state.phase };
      renewal = options.renewal?.();
    }
    const ending = renewal === undefined ? signal : AbortSignal.any([signal, renewal]);
    const watched: Watched = await step(options, state, latest, ending);
    if (renewal?.aborted && !signal.aborted) {
      latest = later(latest, watched.resourceVersion);
      continue;
    }
    if (isDoubtful(watched.error)) watched.error = await checked(options, watched.error, latest, signal);
    if (signal.aborted) return;
    if (watched.error instanceof RestoredError) return options.onRestored?.(watched.error);
    latest = later(latest, watched.resourceVersion);
    const next = nextState(state, watched);
    const fallsBack = state.phase === "Stream" && next.phase === "List";
    state = next;
    if (fallsBack) continue; // once, and not a failure
    const lasted = clock.monotonic() - started;
    if (clock.monotonic() - healthySince >= HEALTHY_MS) failures = 0;
    if (watched.error === undefined && (lasted >= SHORT_WATCH_MS || watched.events > 0)) continue;
    // The version of a long watch can become too old: list again at once.
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
  options.sink.listBegins?.();
  return state.phase === "Stream" ? watchOnce(options, undefined, signal, latest) : listAll(options, latest, signal);
}

/** Whether a failed watch may mean that the API server went back in time: it does not know the version, or it stays silent. */
function isDoubtful(error: unknown): boolean {
  if (error instanceof KubeError) return isTooLarge(error);
  return error instanceof Error && "code" in error && error.code === "UND_ERR_BODY_TIMEOUT";
}

/**
 * The error of a suspicious watch, or a RestoredError: a list shows the version of the API server. A watch from a later version
 * than this shows nothing until the API server gets there.
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
  // The server does not support streaming lists: use pages.
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
