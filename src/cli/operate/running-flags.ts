/**
 * Flags of V8 that it reads while the program runs (docs/reference/performance.md). TurboFan compiles a function after 40,000 calls instead of
 * 3,000: an operator calls few functions so often that TurboFan's code, which is a little faster than Maglev's, is worth its compilation. The
 * old generation is collected when it has grown by half instead of up to three times: most of what it gets is garbage of requests.
 */
export const RUNNING_FLAGS = ["--invocation-count-for-turbofan=40000", "--heap-growing-percent=50"];
