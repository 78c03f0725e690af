import { formatDuration } from "../../api/schema/duration.ts";
import { type ConditionUpdate, isTrue } from "../../api/v1alpha1/conditions.ts";
import type { MediaBatch, MediaBatchStatus } from "../../api/v1alpha1/media-batch.ts";
import { rfc3339 } from "../../base/clock.ts";
import { mergeConditions, stalledCondition, waitingConditions } from "../report.ts";
import type { Cause } from "../verdict.ts";
import type { StopCause } from "./plan.ts";

/** How a reconcile of a batch ended. */
export type BatchOutcome =
  /** A user must act, or (`stalled` false) it continues without help. Jobs that exist go on. */
  | ({ kind: "Held"; stalled: boolean } & Cause)
  | { kind: "Suspended" }
  | { kind: "Running"; halted: number; onlyHalted: boolean }
  | { kind: "Ended"; stopped: StopCause | undefined };

/** The whole status after a reconcile. `written`: fields that it changes; an undefined one is removed. `now`: ms since the epoch. */
export function batchStatusOf(
  batch: MediaBatch,
  written: Partial<Record<keyof MediaBatchStatus, unknown>>,
  outcome: BatchOutcome,
  now: number,
): MediaBatchStatus {
  const { generation } = batch.metadata;
  const fields = { ...(batch.status ?? { conditions: [] }), ...written } as MediaBatchStatus;
  const status: MediaBatchStatus = { ...fields, observedGeneration: generation, phase: phaseOf(fields, outcome) };
  for (const [field, value] of Object.entries(status)) if (value === undefined) Reflect.deleteProperty(status, field);
  if (status.total !== undefined) status.progress = `${status.succeeded ?? 0}/${status.total}`;
  if (outcome.kind === "Running") status.halted = outcome.halted;
  if (outcome.kind === "Ended") {
    status.completionTime ??= rfc3339(now);
    status.halted = 0;
    const ran = Date.parse(status.completionTime) - Date.parse(status.startTime ?? status.completionTime);
    status.duration = formatDuration(ran);
  }
  const updates = [...suspendedCondition(batch, outcome), ...conditionsOf(batch, status, outcome)];
  status.conditions = mergeConditions(batch.status?.conditions, updates, batch.metadata, now);
  return status;
}

function phaseOf({ total, failed = 0 }: MediaBatchStatus, outcome: BatchOutcome): MediaBatchStatus["phase"] {
  if (outcome.kind === "Suspended") return "Suspended";
  if (outcome.kind === "Ended") return outcome.stopped !== undefined || failed > 0 ? "Failed" : "Succeeded";
  return total === undefined ? "Pending" : "Running";
}

function suspendedCondition({ status }: MediaBatch, { kind }: BatchOutcome): ConditionUpdate[] {
  if (kind === "Suspended") {
    const message = "Nothing is started while spec.suspend is true";
    return [{ type: "Suspended", status: "True", reason: "Suspended", message }];
  }
  if (kind === "Held" || !isTrue(status?.conditions, "Suspended")) return [];
  return [{ type: "Suspended", status: "False", reason: "Resumed", message: "spec.suspend is false" }];
}

function conditionsOf(batch: MediaBatch, status: MediaBatchStatus, outcome: BatchOutcome): ConditionUpdate[] {
  switch (outcome.kind) {
    case "Held":
      return outcome.stalled ? [stalledCondition(outcome)] : waitingConditions(outcome);
    case "Suspended": {
      const message = `spec.suspend is true: set it to false to go on. ${progressText(status)}`;
      return [{ type: "Ready", status: "False", reason: "Suspended", message }];
    }
    case "Running": {
      const message = progressText(status);
      if (!outcome.onlyHalted) return waitingConditions({ reason: "Progressing", message });
      const { name, namespace } = batch.metadata;
      const decide = `decide for all of them with mooring resolve mediabatch/${name} -n ${namespace}`;
      return [stalledCondition({ reason: "JobsHalted", message: `${message}${heldBack(batch, status)}: ${decide}` })];
    }
    case "Ended":
      return endConditions(batch, status, outcome.stopped);
  }
}

/** Items that are not started because too many jobs are halted. */
function heldBack(
  { spec }: MediaBatch,
  { total = 0, succeeded = 0, failed = 0, active = 0 }: MediaBatchStatus,
): string {
  const held = total - succeeded - failed - active;
  return held > 0 ? `; ${held} are not started, because maxHaltedIndexes is ${spec.maxHaltedIndexes}` : "";
}

function endConditions(
  { spec }: MediaBatch,
  status: MediaBatchStatus,
  stopped: StopCause | undefined,
): ConditionUpdate[] {
  const { failed = 0, index } = status;
  const message = `${progressText(status)}; ${index?.uri ?? "there is no index"} lists them`;
  if (stopped === undefined && failed === 0) {
    return [
      { type: "Complete", status: "True", reason: "Completed", message },
      { type: "Ready", status: "True", reason: "Completed", message },
    ];
  }
  const why: Record<StopCause, string> = {
    MaxFailedIndexesExceeded: `More than ${spec.maxFailedIndexes} items failed`,
    DeadlineExceeded: `The batch ran for more than ${spec.activeDeadlineSeconds} s`,
  };
  const cause: Cause = {
    reason: stopped ?? "FailedIndexes",
    message: stopped === undefined ? message : `${why[stopped]}: ${message}`,
  };
  return [{ type: "Failed", status: "True", ...cause }, stalledCondition(cause)];
}

function progressText({ total = 0, succeeded = 0, failed = 0, active = 0, halted = 0 }: MediaBatchStatus): string {
  const parts = [
    failed > 0 ? `${failed} failed` : undefined,
    active > 0 ? `${active} active` : undefined,
    halted > 0 ? `${halted} wait for a decision` : undefined,
  ].filter((part) => part !== undefined);
  return [`${succeeded} of ${total} items succeeded`, ...parts].join(", ");
}
