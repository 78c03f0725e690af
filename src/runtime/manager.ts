import type { Logger } from "pino";
import { aborted, type Clock, delay, withDeadline } from "../base/clock.ts";
import type { KubeObject } from "../kube/types.ts";
import type { Controller } from "./controller.ts";
import type { Informer } from "./informer.ts";
import type { Members } from "./members.ts";

/** A loop beside the controllers (a poller, a sweep) with a start and a stop. */
export type Runnable = {
  name: string;
  start(): void | Promise<void>;
  /** Ends work whose outcome controllers still record; called before they stop. It gives up when `deadline` aborts. */
  drain?(deadline: AbortSignal): Promise<void>;
  stop(): void | Promise<void>;
};

type StartedInformer = Pick<Informer<KubeObject>, "resource" | "start" | "synced" | "stopped">;

export type ManagerOptions = {
  /** The processes of the installation, which this one joins. */
  members: Pick<Members, "join" | "lost" | "setReady" | "leave">;
  /** Called while this process joins. What the first lists show counts only afterwards. */
  prepare(signal: AbortSignal): Promise<void>;
  /** In groups. The first starts while this process joins, and each other one when the lists of the group before are complete. */
  informers: readonly (readonly StartedInformer[])[];
  /** Called when the lists of a group are complete and this process has joined. */
  onListed?: (group: number) => void;
  /**
   * In groups. A group starts when the group before has reconciled the objects of the first lists, at the latest after 1 s: an object
   * that waits for another one is then reconciled once, not again for each step of the other one.
   */
  controllers: readonly (readonly Controller[])[];
  runnables: readonly Runnable[];
  /**
   * Called at a stop before anything else: other processes may go on with what this one did. `isLost`: its lease has ended, so they need
   * not be told.
   */
  handOver?: (isLost: boolean, deadline: AbortSignal) => Promise<void>;
  /** Called when the process has stopped because its lease has ended, before `run` rejects. `stop`: the process has to end now. */
  onLost?: (stop: AbortSignal) => Promise<void>;
  clock: Clock;
  log: Logger;
  /** How long requests under way may take to end at a stop, ms. Their outcomes are then recorded within 5 s. */
  stopDeadlineMs: number;
};

export type Manager = {
  /** Runs until `stop` aborts or the lease of this process has ended (then it rejects: the process must end). */
  run(stop: AbortSignal): Promise<void>;
  /** Throws with the reason while not ready: half-filled caches are not. */
  ready(): void;
};

/** Time to record the outcome of requests that the stop deadline has ended. */
const RECORD_MS = 5_000;
/** How long other processes wait at most until this one has given up what they may go on with. */
const HAND_OVER_MS = 5_000;
/** Stop deadline of a process whose lease has ended: others judge its requests, so a response can only be recorded at once. */
const LOST_LEASE_MS = 20_000;
/** An object that takes longer, such as an account whose service does not answer, keeps no other object from being reconciled. */
const GROUP_START_MS = 1_000;

/**
 * Ordered start, reverse stop. Nothing may move in the order of the end: first other processes may go on, then this one waits for its own
 * requests, and its lease ends last, because until then nobody else judges what it sent.
 */
export function createManager(options: ManagerOptions): Manager {
  const { members, log } = options;
  const informers = options.informers.flat();

  async function start(stop: AbortSignal, watches: AbortSignal): Promise<void> {
    // Beside the first lists, which nothing acts on before.
    const joined = Promise.all([members.join(stop), options.prepare(stop)]);
    for (const [group, some] of options.informers.entries()) {
      // An API server that is away must not keep the process from ending.
      const listed = Promise.race([Promise.all(some.map((informer) => informer.start(watches))), aborted(stop)]);
      await Promise.all([joined, listed]);
      stop.throwIfAborted();
      options.onListed?.(group);
    }
    members.setReady(true);
    for (const runnable of options.runnables) await runnable.start();
    await startControllers(options, stop);
    log.info({ controllers: options.controllers.flat().map(({ name }) => name) }, "controllers started");
  }

  return {
    ready() {
      const waiting = informers.filter((informer) => !informer.synced());
      if (waiting.length > 0) {
        throw new Error(
          `waiting for the first list of ${waiting.map((informer) => informer.resource.plural).join(", ")}`,
        );
      }
    },
    async run(stop) {
      const watches = new AbortController();
      const ended = AbortSignal.any([stop, members.lost]);
      try {
        await start(ended, watches.signal);
        await aborted(ended);
      } catch (error) {
        if (!ended.aborted) throw error;
      } finally {
        log.info("stopping");
        await finish(options, watches);
      }
      if (members.lost.aborted && !stop.aborted) {
        await options.onLost?.(stop);
        throw members.lost.reason;
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

/** Stops everything in reverse. A step that fails does not skip the next ones: the lease ends in any case. @throws the first error */
async function finish(options: ManagerOptions, watches: AbortController): Promise<void> {
  const { members, clock, log, controllers } = options;
  const failures: unknown[] = [];
  const attempt = async (name: string, step: () => void | Promise<void> | undefined) => {
    try {
      await step();
    } catch (error) {
      failures.push(error);
      log.error({ name, reason: String(error) }, "not stopped in order");
    }
  };
  const lost = members.lost.aborted;
  members.setReady(false);
  await withDeadline(clock, HAND_OVER_MS, (deadline) => attempt("hand over", () => options.handOver?.(lost, deadline)));
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
  const stopped = options.informers.flat().map((one) => attempt(one.resource.plural, () => one.stopped()));
  await Promise.all(stopped);
  await members.leave();
  if (failures.length > 0) throw failures[0];
}
