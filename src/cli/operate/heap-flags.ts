/**
 * Flags of V8 that it reads while the program runs. The young generation has its full size after its first growth, and V8 makes it small again
 * at rest. The old generation is collected when it has grown by half: V8 lets a small one grow by three times, and most of that is garbage.
 */
export const HEAP_FLAGS = ["--semi-space-growth-factor=32", "--heap-growing-percent=50"];
