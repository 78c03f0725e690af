import { eventually } from "../../support/world.ts";
import { type Scheduler, settled } from "../engine/scheduler.ts";

/** How a test lets time pass. */
export type StageTime = {
  pass(ms: number): Promise<void>;
  /** Waits until `probe` returns a value, and tells its last error or value if it never does. */
  eventually<T>(what: string, probe: () => Promise<T | undefined | false>, timeoutMs?: number): Promise<T>;
};

/** Within it, everything that a scenario waits for happens. */
const GENEROUS_MS = 30 * 60_000;
const LOOK_MS = 500;

/** What follows a piece of real work can begin the next one some turns of the event loop later. */
export const QUIET_TURNS = 3;

/**
 * Time passes while every user waits for it: an event, and then everything that waits for promises, files and sockets. `quietTurns`: of the
 * event loop, without real work.
 */
export function createTime(scheduler: Scheduler, isBusy: () => boolean, quietTurns: number): StageTime {
  const waiting = new Set<(error: unknown) => void>();
  let driving = false;

  async function drive(): Promise<void> {
    driving = true;
    try {
      for (;;) {
        for (let quiet = 0; quiet < quietTurns; quiet = isBusy() ? 0 : quiet + 1) await settled();
        if (waiting.size === 0) return;
        await scheduler.step(Number.MAX_SAFE_INTEGER);
      }
    } catch (error) {
      for (const reject of waiting) reject(error);
      waiting.clear();
    } finally {
      driving = false;
    }
  }

  function pass(ms: number): Promise<void> {
    return new Promise((resolve, reject) => {
      waiting.add(reject);
      scheduler.after(ms, () => {
        waiting.delete(reject);
        resolve();
      });
      if (!driving) void drive();
    });
  }

  return {
    pass,
    eventually: (what, probe, timeoutMs = GENEROUS_MS) =>
      eventually(what, probe, timeoutMs, { now: scheduler.now, pause: () => pass(LOOK_MS) }),
  };
}

/** Files of a volume are read and written in real time, and so are results. */
export function hasRealWork(): boolean {
  return process
    .getActiveResourcesInfo()
    .some((name) => /^FSReq|^CloseReq|^FileHandle|^GetAddrInfo|^TCP(Connect|Socket)/.test(name));
}
