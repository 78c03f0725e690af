import type { MediaBatch } from "../../api/v1alpha1/media-batch.ts";
import { jobResourceOf } from "./child.ts";
import { createItemReader, type ItemReader } from "./item-reader.ts";
import type { CheckedItems } from "./items.ts";
import { createResultLog, type ResultLog } from "./results.ts";

/** How the check of all items ended. `Unreadable`: `error` says why. */
export type CheckEnd = Exclude<CheckedItems, { kind: "Good" }> | GoodItems | { kind: "Unreadable"; error: unknown };
type GoodItems = Extract<CheckedItems, { kind: "Good" }> & { quantities: { operation: string; quantity: number }[] };

/** What this process remembers of a batch. Everything else is in its status and in the store. */
export type BatchMemory = {
  uid: string;
  /** As the last round left it: what a deleted batch has in its store. Undefined: there was no round. */
  batch: MediaBatch | undefined;
  reader: ItemReader;
  log: ResultLog;
  /** The check of all items: under way, or how it ended. Undefined: there was none yet. `at`: monotonic ms. */
  check: { end?: CheckEnd; at: number; abort: AbortController } | undefined;
  /** Jobs that were created a moment ago: the store may not show them yet. By index, monotonic ms. */
  created: Map<number, number>;
  /** UIDs of the jobs whose deletion the API server has confirmed: the store may still show them. */
  removed: Set<string>;
  /** Since when the next round waits for more jobs to end, monotonic ms. */
  gathersSince: number | undefined;
  /** When something was written last, monotonic ms. */
  wroteAt: number;
};

export type BatchMemories = {
  /** Forgets a former batch with the same key. */
  of(key: string, batch: MediaBatch): BatchMemory;
  find(key: string): BatchMemory | undefined;
  forget(key: string): void;
};

export function createBatchMemories(): BatchMemories {
  const memories = new Map<string, BatchMemory>();

  function forget(key: string): void {
    memories.get(key)?.check?.abort.abort(new Error("the batch has ended, or another process serves its account"));
    memories.delete(key);
  }

  return {
    of(key, batch) {
      const { uid } = batch.metadata;
      const known = memories.get(key);
      if (known?.uid === uid) return known;
      forget(key);
      const memory: BatchMemory = {
        uid,
        batch: undefined,
        reader: createItemReader(batch.spec.items.format, jobResourceOf(batch).kind),
        log: createResultLog(),
        check: undefined,
        created: new Map(),
        removed: new Set(),
        gathersSince: undefined,
        wroteAt: Number.NEGATIVE_INFINITY,
      };
      memories.set(key, memory);
      return memory;
    },
    find: (key) => memories.get(key),
    forget,
  };
}
