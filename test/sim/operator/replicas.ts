import type { Scheduler } from "../engine/scheduler.ts";
import type { RequestClass } from "../scenario/plan.ts";
import { type OperatorProcess, type ProcessOptions, startProcess } from "./process.ts";

export type ReplicasOptions = {
  count: number;
  scheduler: Scheduler;
  wiring: (
    of: () => OperatorProcess | undefined,
    identity: string,
  ) => Pick<ProcessOptions, "api" | "service" | "storage" | "log" | "scheduler">;
};

/** The Deployment: restarts every process that ends. */
export type Replicas = {
  start(): void;
  crash(index: number, downMs: number): void;
  /** The process ends at one of its next requests. */
  crashAtSend(index: number, trap: Trap): void;
  /** For so long, each process that starts ends at one of its first requests that can change something. */
  crashLoop(forMs: number): void;
  terminate(index: number, downMs: number): void;
  pause(index: number, forMs: number): void;
  /** Faults end: traps are removed, and paused processes continue. */
  calm(): void;
  /** A request is about to leave a process, or has left it. */
  sent(process: OperatorProcess | undefined, request: RequestClass, moment: "Before" | "After"): void;
  running(): OperatorProcess[];
  /** When and how a process ended: "crash", or the reason that it gave; undefined: it runs, or has never run. */
  endOf(identity: string): { reason: string; at: number } | undefined;
  /** Kills all, and frees the memory of every process that ever ran. */
  end(): void;
  counts(): { crashes: number; starts: number; exits: Record<string, number> };
};

/** Where a process ends. `skip`: requests that pass before. */
export type Trap = { of: RequestClass | "Any"; skip: number; moment: "Before" | "After"; downMs: number };

const RESTART_MS = 2_000;
/** Between the end of a process and the next start in a crash loop. */
const LOOP_MS = 100;

type Slot = {
  process: OperatorProcess | undefined;
  /** A restart is scheduled, or the process is being replaced. */
  downMs: number;
  trap: Trap | undefined;
};

export function createReplicas({ count, scheduler, wiring }: ReplicasOptions): Replicas {
  const slots = Array.from(
    { length: count },
    (): Slot => ({ process: undefined, downMs: RESTART_MS, trap: undefined }),
  );
  const skews = scheduler.random("clock skews");
  const exits: Record<string, number> = {};
  const started: OperatorProcess[] = [];
  const ends = new Map<string, { reason: string; at: number }>();
  const loop = { random: scheduler.random("crash loop"), until: 0 };
  let crashes = 0;

  function start(slot: Slot): void {
    const identity = `operator-${started.length + 1}`;
    const process = startProcess({
      ...wiring(() => slot.process, identity),
      identity,
      skewMs: skews.between(-1_000, 1_000),
      onExit(reason) {
        scheduler.trace(`${identity} ends: ${reason}`);
        ends.set(identity, { reason, at: scheduler.now() });
        const kind = /^(stopped|fenced)$/.test(reason) ? reason : reason.includes("lease") ? "lease lost" : "failed";
        exits[kind] = (exits[kind] ?? 0) + 1;
        replace(slot, process);
      },
    });
    started.push(process);
    slot.process = process;
    slot.trap = trapOfLoop();
    slot.downMs = RESTART_MS;
    scheduler.trace(`${identity} starts`);
  }

  function trapOfLoop(): Trap | undefined {
    const { random, until } = loop;
    if (scheduler.now() >= until) return undefined;
    const of = random.next() < 0.5 ? "ApiWrite" : "ServiceWrite";
    const moment = random.next() < 0.5 ? "Before" : "After";
    return { of, skip: Math.floor(random.next() ** 2 * (of === "ApiWrite" ? 6 : 2)), moment, downMs: LOOP_MS };
  }

  function replace(slot: Slot, ended: OperatorProcess): void {
    if (slot.process !== ended) return;
    slot.process = undefined;
    scheduler.after(slot.downMs, () => {
      if (slot.process === undefined) start(slot);
    });
  }

  function kill(slot: Slot, downMs: number): void {
    const { process } = slot;
    if (process === undefined || !process.time.alive()) return;
    crashes += 1;
    scheduler.trace(`${process.identity} crashes`);
    ends.set(process.identity, { reason: "crash", at: scheduler.now() });
    process.kill();
    slot.downMs = downMs;
    replace(slot, process);
  }

  const slotOf = (index: number): Slot => {
    const slot = slots[index % slots.length];
    if (slot === undefined) throw new Error("there are no replicas");
    return slot;
  };

  return {
    start: () => slots.forEach(start),
    crash: (index, downMs) => kill(slotOf(index), downMs),
    crashAtSend(index, trap) {
      slotOf(index).trap = { ...trap };
    },
    crashLoop(forMs) {
      loop.until = scheduler.now() + forMs;
      for (const slot of slots) slot.trap ??= trapOfLoop();
    },
    terminate(index, downMs) {
      const slot = slotOf(index);
      slot.downMs = downMs;
      slot.process?.stop();
    },
    pause(index, forMs) {
      const { process } = slotOf(index);
      process?.time.pause();
      scheduler.after(forMs, () => process?.time.resume());
    },
    calm() {
      loop.until = 0;
      for (const slot of slots) {
        slot.trap = undefined;
        slot.process?.time.resume();
      }
    },
    sent(process, request, moment) {
      const slot = slots.find((one) => one.process !== undefined && one.process === process);
      const trap = slot?.trap;
      if (slot === undefined || trap === undefined || trap.moment !== moment) return;
      if (trap.of !== "Any" && trap.of !== request) return;
      if (trap.skip > 0) trap.skip -= 1;
      else kill(slot, trap.downMs);
    },
    endOf: (identity) => ends.get(identity),
    running: () => slots.flatMap(({ process }) => (process === undefined ? [] : [process])),
    end() {
      for (const process of started) process.kill();
      for (const process of started) process.discard();
    },
    counts: () => ({ crashes, starts: started.length, exits }),
  };
}
