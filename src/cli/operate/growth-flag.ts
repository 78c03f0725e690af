/**
 * A flag of V8 that it reads while the program runs: the young generation has its full size after its first growth, and V8 makes it small again
 * at rest.
 */
export const GROWTH_FLAG = "--semi-space-growth-factor=32";
