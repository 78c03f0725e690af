import { type Clock, delay } from "../base/clock.ts";

/**
 * Groups changes into writes: there is one write at a time. Commits that arrive within 15 ms share a write, and commits that
 * arrive during a write, or during the pause after it, share the next one.
 */
export type GroupCommit = {
  /**
   * Resolves when a write that began after the call is confirmed.
   * @throws the error of that write | the signal's reason
   */
  commit(signal: AbortSignal): Promise<void>;
  /**
   * Requests a write for a change that nobody waits for: with the next commit, or after 2 s. A write that fails is repeated after
   * 2 s, as long as a write can succeed.
   */
  writeLater(): void;
  /** Ends the pause, waits for the current write, and writes what is pending. When the signal aborts, the write is aborted. */
  close(signal: AbortSignal): Promise<void>;
};

export type GroupCommitOptions = {
  clock: Clock;
  /** Writes everything. It resolves only when the write is confirmed. */
  write: (signal: AbortSignal) => Promise<void>;
  /** Whether a write can succeed, now or later. */
  writable: () => boolean;
  /** Shortest time between the end of a write and the start of the next one, ms. Asked after each write. Default: 0. */
  pauseMs?: () => number;
};

/** Commits that arrive within this time share a write. */
const GATHER_MS = 15;
/** A change without a commit waits this long for the write of one; then it gets a write of its own. */
const SWEEP_MS = 2_000;

export function createGroupCommit({ clock, write, writable, pauseMs = () => 0 }: GroupCommitOptions): GroupCommit {
  let dirty = false;
  /** There is a change that no confirmed write has. */
  let pending = false;
  /** Monotonic ms. */
  let pausedUntil = Number.NEGATIVE_INFINITY;
  let writing: Promise<void> | undefined;
  let waiters: { resolve: () => void; reject: (error: unknown) => void }[] = [];
  let cancelSweep: (() => void) | undefined;
  const closing = new AbortController();
  const ending = new AbortController();

  function schedule(): void {
    dirty = true;
    pending = true;
    cancelSweep?.();
    cancelSweep = undefined;
    writing ??= run().finally(() => {
      writing = undefined;
    });
  }

  async function run(): Promise<void> {
    while (dirty) {
      await delay(clock, Math.max(GATHER_MS, pausedUntil - clock.monotonic()), closing.signal);
      dirty = false;
      pending = false;
      const group = waiters;
      waiters = [];
      try {
        await write(ending.signal);
        pausedUntil = clock.monotonic() + pauseMs();
        for (const waiter of group) waiter.resolve();
      } catch (error) {
        pending = true;
        for (const waiter of group) waiter.reject(error);
        if (writable() && !ending.signal.aborted) {
          if (!dirty && !closing.signal.aborted) sweepLater();
          continue;
        }
        for (const waiter of waiters.splice(0)) waiter.reject(error); // no later write follows
        return;
      }
    }
  }

  function sweepLater(): void {
    cancelSweep ??= clock.setTimeout(() => {
      cancelSweep = undefined;
      if (writable()) schedule();
    }, SWEEP_MS);
  }

  return {
    async commit(signal) {
      const written = Promise.withResolvers<void>();
      const abort = () => written.reject(signal.reason);
      signal.addEventListener("abort", abort, { once: true });
      try {
        waiters.push(written);
        schedule();
        await written.promise;
      } finally {
        signal.removeEventListener("abort", abort); // the signal may live as long as the process
      }
    },
    writeLater() {
      pending = true;
      sweepLater();
    },
    async close(signal) {
      cancelSweep?.();
      closing.abort(new Error("the journal is closing"));
      const giveUp = () => ending.abort(signal.reason);
      signal.addEventListener("abort", giveUp, { once: true });
      await writing; // it repeats until the signal aborts
      signal.removeEventListener("abort", giveUp);
      if (pending && writable()) await write(signal);
      ending.abort(new Error("the journal is closed"));
    },
  };
}
