/**
 * Each half of the young generation has at most 8 MiB: in smaller ones, what requests in flight hold grows old. The old generation is first
 * collected when it has 64 MiB: V8's own first limit falls with each collection of the young one, so V8 marked the code and the first lists right
 * after the start. Both count only while Node starts: src/main.ts takes them back.
 */
export const HEAP_FLAGS = ["--max-semi-space-size=8", "--initial-old-space-size=64"];

/** What takes them back: 0 is V8's default of both. */
export const TAKE_BACK_FLAGS = HEAP_FLAGS.map((flag) => flag.replace(/=.*/, "=0"));

/**
 * How the image and the bundle start Node. V8 has one thread beside the main one, which compiles and collects garbage, instead of four. Each flag
 * saves CPU (docs/reference/performance.md).
 */
export const NODE_FLAGS = [...HEAP_FLAGS, "--v8-pool-size=1"];

/**
 * How scripts/compile-cache.ts is started, so that it writes the same bytes each time: V8 chooses no seed, and collects no garbage. It leaves a
 * field of some compiled functions as it finds it, which is 0 in memory that held nothing before.
 */
export const COMPILE_FLAGS = ["--hash-seed=1", "--initial-old-space-size=1000"];
