/**
 * Flags of V8 that it reads while the program runs. TurboFan compiles a function after 40,000 calls instead of 3,000: an operator calls few
 * functions so often that TurboFan's code, which is a little faster than Maglev's, is worth its compilation
 * (docs/reference/performance.md).
 */
export const RUNNING_FLAGS = ["--invocation-count-for-turbofan=40000"];
