import type { MediaBatchStatus } from "../../api/v1alpha1/media-batch.ts";
import { indexesOf, parseRanges, rangesOf, shownIndexes } from "./index-set.ts";
import type { Progress } from "./plan.ts";

type Shown = Pick<
  MediaBatchStatus,
  | "completedIndexes"
  | "completedBitmap"
  | "failedIndexes"
  | "failedBitmap"
  | "activeIndexes"
  | "creatingIndexes"
  | "active"
  | "succeeded"
  | "failed"
>;

/** The progress that a status shows. @throws Error when the status is not one that Mooring wrote */
export function progressOf(status: Shown = {}): Progress {
  return {
    completed: indexesOf({ ranges: status.completedIndexes ?? "", ...bitmapOf(status.completedBitmap) }),
    failed: indexesOf({ ranges: status.failedIndexes ?? "", ...bitmapOf(status.failedBitmap) }),
    active: parseRanges(status.activeIndexes ?? ""),
    creating: parseRanges(status.creatingIndexes ?? ""),
  };
}

const bitmapOf = (bitmap: string | undefined) => (bitmap === undefined ? {} : { bitmap });

/** The fields of a status that show a progress. An undefined field is absent. */
export function shownProgress({ completed, failed, active, creating }: Progress): Shown {
  const done = shownIndexes(completed);
  const lost = shownIndexes(failed);
  return {
    active: active.size(),
    succeeded: completed.size(),
    failed: failed.size(),
    completedIndexes: shown(done.ranges),
    completedBitmap: done.bitmap,
    failedIndexes: shown(lost.ranges),
    failedBitmap: lost.bitmap,
    activeIndexes: shown(rangesOf(active)),
    creatingIndexes: shown(rangesOf(creating)),
  };
}

const shown = (ranges: string) => (ranges === "" ? undefined : ranges);

/** Whether the job of an index may send its request: its batch has recorded that the job exists, and not that it has ended. */
export function maySend(status: Shown | undefined, index: number): boolean {
  return parseRanges(status?.activeIndexes ?? "").has(index) && !parseRanges(status?.creatingIndexes ?? "").has(index);
}
