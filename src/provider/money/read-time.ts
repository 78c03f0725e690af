/** When a read began. `at`: ms since the epoch. `monotonic`: ms of the monotonic clock. */
export type ReadTime = { at: number; monotonic: number };
