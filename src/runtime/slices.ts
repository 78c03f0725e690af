/**
 * Cuts work that waits for nothing into slices. Work that only awaits promises never returns to the event loop: until it ends, no timer
 * runs, and no probe and no response is handled.
 */
export type Slices = {
  /** Undefined while the slice lasts. Otherwise the caller awaits it: it resolves when the event loop has run. */
  end(): Promise<void> | undefined;
};

export type SlicesOptions = {
  /** How long a slice may last, ms. It ends with the step that exceeds it. */
  maxMs: number;
  /** Default: the time of the process, ms. */
  now?: () => number;
  /** Calls `go` when the event loop has run. Default: `setImmediate`. */
  turn?: (go: () => void) => void;
};

/** Slices that all work of a process shares. */
export function createSlices({ maxMs, now = () => performance.now(), turn = setImmediate }: SlicesOptions): Slices {
  let beganAt = now();
  let turning: Promise<void> | undefined;

  return {
    end() {
      if (turning !== undefined || now() - beganAt < maxMs) return turning;
      const { promise, resolve } = Promise.withResolvers<void>();
      turning = promise;
      turn(() => {
        turning = undefined;
        beganAt = now();
        resolve();
      });
      return promise;
    },
  };
}
