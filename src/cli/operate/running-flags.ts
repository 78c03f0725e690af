/**
 * Flags of V8 that it reads while the program runs (docs/reference/performance.md). TurboFan compiles a function after 40,000 calls instead of
 * 3,000: an operator calls few functions so often that TurboFan's code, which is a little faster than Maglev's, is worth its compilation.
 */
export const RUNNING_FLAGS = ["--invocation-count-for-turbofan=40000"];

/**
 * Set when the first lists are stored. The old generation is then collected when it has grown by half instead of up to three times: most of
 * what it gets is garbage of requests. Of the first lists, everything stays, so collecting more often would only delay the start.
 */
export const LISTED_FLAGS = ["--heap-growing-percent=50"];
