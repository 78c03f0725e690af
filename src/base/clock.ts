/** Time, as an argument: tests pass a clock that they move. */
export type Clock = {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds that never jump: for durations, deadlines and leases. */
  monotonic(): number;
  /** Runs `fn` once after `ms`, however long that is; the returned function cancels it. */
  setTimeout(fn: () => void, ms: number): () => void;
};

/** About 24.8 days; Node fires a longer timer at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimeout: (fn, ms) => {
    let timer: NodeJS.Timeout;
    const arm = (left: number) => {
      timer = left > MAX_TIMER_MS ? setTimeout(() => arm(left - MAX_TIMER_MS), MAX_TIMER_MS) : setTimeout(fn, left);
    };
    arm(ms);
    return () => clearTimeout(timer);
  },
};

/** A signal that aborts after `ms`, or after 24.8 days if that is sooner; it keeps no process alive. */
export function deadlineSignal(ms: number): AbortSignal {
  return AbortSignal.timeout(Math.min(Math.ceil(ms), MAX_TIMER_MS));
}

/** Runs `run` with a signal that aborts after `ms` of this clock. */
export async function withDeadline<T>(clock: Clock, ms: number, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const ending = new AbortController();
  const cancel = clock.setTimeout(() => ending.abort(new Error(`not done within ${ms} ms`)), ms);
  try {
    return await run(ending.signal);
  } finally {
    cancel();
  }
}

/** Resolves after `ms`, or at once when `signal` aborts: the caller checks the signal. */
export function delay(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const finish = () => {
      cancel();
      signal?.removeEventListener("abort", finish);
      resolve();
    };
    const cancel = clock.setTimeout(finish, ms);
    signal?.addEventListener("abort", finish, { once: true });
  });
}

/**
 * Milliseconds since this call, by the clock that shows more. The monotonic clock can stand still while the machine is suspended, and the
 * wall clock can be set back.
 */
export function stopwatch(clock: Pick<Clock, "now" | "monotonic">): () => number {
  const [wall, monotonic] = [clock.now(), clock.monotonic()];
  return () => Math.max(clock.now() - wall, clock.monotonic() - monotonic);
}

/**
 * Waits in a line. `join` takes a place and returns what gives it up, which is called when `signal` aborts first.
 * @throws the signal's reason, or what `refuse` gets
 */
export function inLine<T>(
  signal: AbortSignal | undefined,
  join: (enter: (value: T) => void, refuse: (error: unknown) => void) => () => void,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason);
    const onAbort = () => {
      leave();
      reject(signal?.reason);
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    const end = () => signal?.removeEventListener("abort", onAbort);
    const leave = join(
      (value) => {
        end();
        resolve(value);
      },
      (error) => {
        end();
        reject(error);
      },
    );
  });
}

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** RFC 3339 in UTC with milliseconds, for durations that are often shorter than a second. */
export function rfc3339Milli(ms: number): string {
  return new Date(ms).toISOString();
}

/** RFC 3339 in UTC to the second, as Kubernetes writes times. */
export function rfc3339(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, -".000Z".length)}Z`;
}
