import { type MediaBatch, type MediaBatchStatus, mediaBatchSpecSchema } from "../../../src/api/v1alpha1/media-batch.ts";
import { PENDING_STATUS } from "../../../src/api/v1alpha1/meta.ts";
import { type BatchOutcome, batchStatusOf } from "../../../src/controllers/batch/status.ts";
import { START } from "../fake-clock.ts";
import { manifest } from "../manifests.ts";
import { storedMeta } from "../stored-meta.ts";

type Written = Parameters<typeof batchStatusOf>[1];

/** A batch after an outcome. */
export function batchAfter(
  before: MediaBatchStatus | undefined,
  outcome: BatchOutcome,
  written: Written = {},
): MediaBatch & { status: MediaBatchStatus } {
  const batch: MediaBatch = {
    apiVersion: "mooring.dev/v1alpha1",
    kind: "MediaBatch",
    metadata: storedMeta({ name: "book" }),
    spec: mediaBatchSpecSchema.parse(manifest("batch").spec),
    ...(before === undefined ? {} : { status: before }),
  };
  return { ...batch, status: batchStatusOf(batch, written, outcome, START) };
}

const running = { total: 3, succeeded: 1, failed: 0, active: 2, startTime: "2026-02-28T23:00:00Z" };
const halted: BatchOutcome = { kind: "Running", halted: 2, onlyHalted: true };
const known = batchAfter(PENDING_STATUS, { kind: "Running", halted: 0, onlyHalted: false }, running).status;
const bad: BatchOutcome = { kind: "Held", stalled: true, reason: "InvalidItems", message: "line 1: is no JSON" };

type BatchRow = [name: string, before: MediaBatchStatus, outcome: BatchOutcome, written: Written, shows: string];

/** Every state of a batch, with phase, reason of Ready and progress. */
export const BATCH_STATES: BatchRow[] = [
  [
    "whose items are checked",
    PENDING_STATUS,
    { ...bad, stalled: false, reason: "Progressing" },
    {},
    "Pending Progressing",
  ],
  ["with bad items", PENDING_STATUS, bad, {}, "Pending InvalidItems"],
  ["that runs", PENDING_STATUS, { kind: "Running", halted: 0, onlyHalted: false }, running, "Running Progressing 1/3"],
  ["that runs although a job is halted", known, { ...halted, onlyHalted: false }, {}, "Running Progressing 1/3"],
  ["with halted jobs alone", known, halted, {}, "Running JobsHalted 1/3"],
  ["that is suspended", known, { kind: "Suspended" }, {}, "Suspended Suspended 1/3"],
  ["that goes on", batchAfter(known, { kind: "Suspended" }).status, halted, {}, "Running JobsHalted 1/3"],
  [
    "that succeeded",
    known,
    { kind: "Ended", stopped: undefined },
    { succeeded: 3, active: 0 },
    "Succeeded Completed 3/3",
  ],
  [
    "with a failed item",
    known,
    { kind: "Ended", stopped: undefined },
    { succeeded: 2, failed: 1, active: 0 },
    "Failed FailedIndexes 2/3",
  ],
  [
    "after its deadline",
    known,
    { kind: "Ended", stopped: "DeadlineExceeded" },
    { active: 0 },
    "Failed DeadlineExceeded 1/3",
  ],
];
