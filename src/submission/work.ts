import type { Operation } from "../provider/operations.ts";

/** A job that sends one paid request. `quantity`: characters of speech or seconds of video; undefined: not known yet. */
export type Work = { uid: string; namespace: string; operation: Operation; quantity?: number | undefined };
