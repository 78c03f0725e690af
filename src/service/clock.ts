/** Time as a value that comes in, so that tests can move it. */
export type Clock = {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Runs `fn` once after `ms` milliseconds; the returned function cancels it. */
  setTimeout(fn: () => void, ms: number): () => void;
};

export const systemClock: Clock = {
  now: () => Date.now(),
  setTimeout: (fn, ms) => {
    const timer = setTimeout(fn, ms);
    return () => clearTimeout(timer);
  },
};
