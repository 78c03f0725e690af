/**
 * Flags of V8 that it reads while the program runs. The young generation has its full size after its first growth, and V8 makes it small again
 * at rest. TurboFan compiles a function after 40,000 calls instead of 3,000: an operator calls few functions so often that
 * TurboFan's code, which is a little faster than Maglev's, is worth its compilation (docs/reference/performance.md).
 */
export const RUNNING_FLAGS = ["--semi-space-growth-factor=32", "--invocation-count-for-turbofan=40000"];
