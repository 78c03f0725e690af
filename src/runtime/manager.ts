import type { Logger } from "pino";
import { aborted, type Clock, delay, withDeadline } from "../base/clock.ts";
import type { KubeObject } from "../kube/types.ts";
import type { Controller } from "./controller.ts";
import type { LeaderElector } from "./leader.ts";
import type { Informer } from "./store.ts";

/** Something that runs beside the controllers (a poller, a sweep) and ends when told. */
export type Runnable = {
  name: string;
  start(): void | Promise<void>;
  /** Ends what controllers still have to write down; called before they stop. When `deadline` aborts it must give up. */
  drain?(deadline: AbortSignal): Promise<void>;
  stop(): void | Promise<void>;
};

type StartedInformer = Pick<Informer<KubeObject>, "resource" | "start" | "synced" | "stopped">;

export type ManagerOptions = {
  /** Undefined: this process is the only one. */
  elector: LeaderElector | undefined;
  /** Called once this process leads, before it lists anything. */
  prepare(signal: AbortSignal): Promise<void>;
  informers: readonly StartedInformer[];
  /**
   * In groups. A group starts when the group before has reconciled the objects of the first lists, at the latest after 1 s: an object
   * that waits for another one is then reconciled once, not again for each step of the other one.
   */
  controllers: readonly (readonly Controller[])[];
  runnables: readonly Runnable[];
  /** Called when the process has stopped because it lost the lease, before `run` rejects. `stop`: the process has to end now. */
  onLost?: (stop: AbortSignal) => Promise<void>;
  clock: Clock;
  log: Logger;
  /** How long requests under way may take to end at a stop, ms. What has come of them is then recorded within 5 s. */
  stopDeadlineMs: number;
};

export type Manager = {
  /** Runs until `stop` aborts or leadership is lost (then it rejects: the process must end). */
  run(stop: AbortSignal): Promise<void>;
  /** Throws with the reason while not ready: standing by counts as ready, half-filled caches do not. */
  ready(): void;
  leading(): boolean;
};

/** Time to record the outcome of requests that the stop deadline has ended. */
const RECORD_MS = 5_000;
/** Stop deadline of a process that has lost the lease: another one leads, so a response can only be recorded at once. */
const LOST_LEASE_MS = 20_000;
/** An object that takes longer, such as an account whose service does not answer, keeps no other object from being reconciled. */
const GROUP_START_MS = 1_000;

/**
 * Ordered start, reverse stop. The takeover order is the safety argument and nothing may move in it: lease (the previous leader sends
 * nothing any more); a consistent list of every kind, which shows what the previous leader recorded; only then act.
 */
export function createManager(options: ManagerOptions): Manager {
  const { elector, log } = options;
  let leading = false;

  async function start(stop: AbortSignal, watches: AbortSignal): Promise<void> {
    await elector?.acquire(stop);
    await options.prepare(stop);
    leading = true;
    // An API server that is away must not keep the process from ending.
    await Promise.race([Promise.all(options.informers.map((informer) => informer.start(watches))), aborted(stop)]);
    stop.throwIfAborted();
    for (const runnable of options.runnables) await runnable.start();
    await startControllers(options, stop);
    log.info({ controllers: options.controllers.flat().map(({ name }) => name) }, "controllers started");
  }

  return {
    leading: () => leading,
    ready() {
      if (!leading) return;
      const waiting = options.informers.filter((informer) => !informer.synced());
      if (waiting.length > 0) {
        throw new Error(
          `waiting for the first list of ${waiting.map((informer) => informer.resource.plural).join(", ")}`,
        );
      }
    },
    async run(stop) {
      const watches = new AbortController();
      const ended = elector === undefined ? stop : AbortSignal.any([stop, elector.lost]);
      try {
        await start(ended, watches.signal);
        await aborted(ended);
      } catch (error) {
        if (!ended.aborted) throw error;
      } finally {
        log.info("stopping");
        await finish(options, watches);
      }
      if (elector?.lost.aborted && !stop.aborted) {
        await options.onLost?.(stop);
        throw elector.lost.reason;
      }
    },
  };
}

async function startControllers(
  { clock, controllers }: Pick<ManagerOptions, "clock" | "controllers">,
  stop: AbortSignal,
): Promise<void> {
  for (const [index, group] of controllers.entries()) {
    for (const controller of group) controller.start();
    if (index === controllers.length - 1) return;
    const ended = new AbortController();
    const limit = delay(clock, GROUP_START_MS, AbortSignal.any([stop, ended.signal]));
    await Promise.race([Promise.all(group.map((controller) => controller.idle())), limit]);
    ended.abort();
    stop.throwIfAborted();
  }
}

/** Stops everything in reverse. Each step follows, whatever came of those before: the lease is given back in any case. @throws the first error */
async function finish(options: ManagerOptions, watches: AbortController): Promise<void> {
  const { elector, clock, log, controllers } = options;
  const failures: unknown[] = [];
  const attempt = async (name: string, step: () => void | Promise<void> | undefined) => {
    try {
      await step();
    } catch (error) {
      failures.push(error);
      log.error({ name, reason: String(error) }, "not stopped in order");
    }
  };
  const lost = elector?.lost.aborted === true;
  const drainMs = lost ? Math.min(LOST_LEASE_MS, options.stopDeadlineMs) : options.stopDeadlineMs;
  await withDeadline(clock, drainMs + RECORD_MS, async (deadline) => {
    await withDeadline(clock, drainMs, (drained) =>
      Promise.all(options.runnables.map((runnable) => attempt(runnable.name, () => runnable.drain?.(drained)))),
    );
    await Promise.all(
      controllers.flat().map((controller) => attempt(controller.name, () => controller.stop(deadline))),
    );
  });
  for (const runnable of [...options.runnables].reverse()) await attempt(runnable.name, () => runnable.stop());
  watches.abort(new Error("the operator is stopping"));
  await Promise.all(options.informers.map((informer) => attempt(informer.resource.plural, () => informer.stopped())));
  await elector?.release();
  if (failures.length > 0) throw failures[0];
}
