/** Seeded random numbers: the same seed and the same calls in the same order give the same results. */
export type Random = {
  /** Returns a number in [0, 1). */
  next(): number;
  /** Returns a number in [low, high]. */
  between(low: number, high: number): number;
  /** Returns hexadecimal digits. */
  hex(digits: number): string;
};

/** The generator is mulberry32. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    next,
    between: (low, high) => low + (high - low) * next(),
    hex: (digits) => Array.from({ length: digits }, () => Math.floor(next() * 16).toString(16)).join(""),
  };
}
