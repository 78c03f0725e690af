import { randomUUID } from "node:crypto";
import type { Logger } from "pino";
import type { Clock } from "../base/clock.ts";
import { isConflict } from "../kube/errors.ts";
import { splitKey } from "../kube/types.ts";
import type { Metrics } from "./metrics.ts";
import { type AddOptions, createWorkQueue, type WorkQueue } from "./queue.ts";
import type { Slices } from "./slices.ts";

export type Request = { key: string; namespace: string | undefined; name: string };

/**
 * Nothing: done until something changes. `requeueAfterMs`: look again then, without counting as a failure. After some requeues with 0
 * in a row, the key backs off.
 */
export type Result = { requeueAfterMs?: number } | undefined;

export type ReconcileContext = {
  /** Aborts at the reconcile's deadline and when the manager's stop deadline has passed. */
  signal: AbortSignal;
  /** Carries controller, object and reconcileID. */
  log: Logger;
};

/** Brings one object closer to its spec. Level-triggered: it is given a key, never an event. */
export type Reconcile = (request: Request, context: ReconcileContext) => Promise<Result>;

/** Reconciles objects that one process of several reconciles at a time. */
export type SharedReconciler<T> = {
  reconcile: Reconcile;
  /**
   * What this process has under way for the object. `Outcome`: of a request, to be written by its sender, whoever reconciles the object
   * by now.
   */
  underWay(object: T): "Request" | "Outcome" | "Copy" | undefined;
  /** Another process reconciles the object: drops what this one remembers of it, except of a request. */
  forget(key: string): void;
};

export type ControllerOptions = {
  name: string;
  reconcile: Reconcile;
  maxConcurrentReconciles: number;
  /** Longest time of one reconcile, ms. */
  deadlineMs: number;
  clock: Clock;
  random: () => number;
  log: Logger;
  metrics: Metrics;
  /** Between reconciles that wait for nothing. Default: none. */
  slices?: Slices | undefined;
};

export type Controller = {
  readonly name: string;
  enqueue(key: string, options?: AddOptions): void;
  /** Works until `stop`. */
  start(): void;
  /** Resolves when no object is reconciled or waits for its turn. Objects that are reconciled later do not count. */
  idle(): Promise<void>;
  /** Takes no new key, lets running reconciles end, and aborts them when `deadline` aborts. */
  stop(deadline: AbortSignal): Promise<void>;
};

const BACKOFF = { baseMs: 500, capMs: 5 * 60_000, jitter: 0.4 };
/** Requeues without a delay in a row. Steps that follow each other at once are fewer. */
const AT_ONCE_IN_A_ROW = 5;
const RESULTS = ["success", "error", "requeue", "requeue_after"] as const;

/**
 * Workers over a queue. Success forgets the backoff; an error backs off and beats a requeue-after; a lost optimistic
 * lock is a retry, not an error; every other error is counted and logged once, and never ends a worker. A key that asks to be
 * reconciled at once again and again backs off too: it would use a whole core.
 */
export function createController(options: ControllerOptions): Controller {
  const { name, clock, metrics, slices } = options;
  const labels = { controller: name };
  const log = options.log.child(labels);
  const queue = createWorkQueue({
    clock,
    backoff: { ...BACKOFF, random: options.random },
    onAdd: () => metrics.queueAdds.inc({ name }),
    onRetry: () => metrics.queueRetries.inc({ name }),
    onWait: (seconds) => metrics.queueDuration.observe({ name }, seconds),
  });
  const inFlight = new Set<AbortController>();
  const endings = createEndings(queue, options);
  let workers: Promise<void>[] = [];

  showMetrics(options);

  async function work(): Promise<void> {
    for (let key = await queue.next(); key !== undefined; key = await queue.next()) {
      metrics.activeWorkers.inc(labels);
      metrics.queueDepth.set({ name }, queue.depth());
      const started = performance.now();
      try {
        await reconcileOnce(key);
      } finally {
        const seconds = (performance.now() - started) / 1000;
        metrics.reconcileTime.observe(labels, seconds);
        metrics.workDuration.observe({ name }, seconds);
        metrics.activeWorkers.dec(labels);
        queue.done(key);
      }
      await slices?.end();
    }
  }

  async function reconcileOnce(key: string): Promise<void> {
    const request = { key, ...splitKey(key) };
    // A timer of its own, cleared at the end: AbortSignal.timeout would keep each reconcile in memory until its deadline.
    const ending = new AbortController();
    const cancelDeadline = clock.setTimeout(
      () => ending.abort(new Error(`the reconcile took longer than ${options.deadlineMs / 1000} s`)),
      options.deadlineMs,
    );
    inFlight.add(ending);
    const context = createContext(ending.signal, log, request);
    try {
      endings.ended(key, await options.reconcile(request, context));
    } catch (error) {
      endings.failed(key, error, context.log);
    } finally {
      cancelDeadline();
      inFlight.delete(ending);
    }
  }

  return {
    name,
    enqueue(key, addOptions) {
      queue.add(key, addOptions);
      metrics.queueDepth.set({ name }, queue.depth());
    },
    start() {
      workers = Array.from({ length: options.maxConcurrentReconciles }, work);
    },
    idle: queue.idle,
    async stop(deadline) {
      queue.shutDown();
      const abort = () => {
        for (const ending of inFlight) ending.abort(new Error("the operator is stopping"));
      };
      if (deadline.aborted) abort();
      else deadline.addEventListener("abort", abort, { once: true });
      await Promise.all(workers);
    },
  };
}

/** What happens after a reconcile. */
function createEndings(queue: WorkQueue, { name, metrics }: ControllerOptions) {
  /** Requeues without a delay in a row, by key. */
  const atOnce = new Map<string, number>();
  const count = (result: (typeof RESULTS)[number]) => metrics.reconcileTotal.inc({ controller: name, result });

  function requeue(key: string, afterMs: number): void {
    const inARow = afterMs > 0 ? 0 : (atOnce.get(key) ?? 0) + 1;
    if (inARow === 0) atOnce.delete(key);
    else atOnce.set(key, inARow);
    if (inARow > AT_ONCE_IN_A_ROW) queue.addRateLimited(key);
    else {
      queue.forget(key);
      queue.add(key, { afterMs });
    }
  }

  return {
    ended(key: string, result: Result): void {
      if (result?.requeueAfterMs === undefined) {
        atOnce.delete(key);
        queue.forget(key);
        count("success");
      } else {
        requeue(key, result.requeueAfterMs);
        count("requeue_after");
      }
    },
    failed(key: string, error: unknown, log: Logger): void {
      queue.addRateLimited(key);
      count(isConflict(error) ? "requeue" : "error");
      if (isConflict(error)) {
        log.debug({ reason: messageOf(error) }, "the object changed meanwhile; reconciling again");
        return;
      }
      metrics.reconcileErrors.inc({ controller: name });
      if (!(error instanceof Error) || error instanceof TypeError || error instanceof ReferenceError) {
        metrics.reconcilePanics.inc({ controller: name });
        log.error({ err: error }, "reconcile threw");
      } else log.error({ reason: messageOf(error) }, "reconcile failed; retrying with backoff");
    },
  };
}

/** Most reconciles log nothing: the logger of a reconcile is made when it is used. */
function createContext(signal: AbortSignal, log: Logger, { namespace, name }: Request): ReconcileContext {
  let own: Logger | undefined;
  return {
    signal,
    get log() {
      own ??= log.child({ namespace, object: name, reconcileID: randomUUID() });
      return own;
    },
  };
}

/** Every series exists from the start, also before its first event. */
function showMetrics({ name, metrics, maxConcurrentReconciles }: ControllerOptions): void {
  const labels = { controller: name };
  metrics.maxConcurrentReconciles.set(labels, maxConcurrentReconciles);
  metrics.activeWorkers.set(labels, 0);
  metrics.queueAdds.inc({ name }, 0);
  metrics.queueRetries.inc({ name }, 0);
  metrics.reconcileErrors.inc(labels, 0);
  metrics.reconcilePanics.inc(labels, 0);
  for (const result of RESULTS) metrics.reconcileTotal.inc({ controller: name, result }, 0);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
