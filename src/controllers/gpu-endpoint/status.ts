import { type ConditionUpdate, getCondition, removeCondition, setConditions } from "../../api/v1alpha1/conditions.ts";
import type { GpuEndpoint, GpuEndpointStatus } from "../../api/v1alpha1/gpu-endpoint.ts";
import { type AccountRef, ANNOTATIONS, GROUP } from "../../api/v1alpha1/meta.ts";
import { rfc3339 } from "../../base/clock.ts";
import { createSanitizer, plainText, type Sanitizer } from "../../base/sanitizer.ts";
import type { EndpointRecord } from "../../provider/endpoints/endpoint-record.ts";
import { readyWorkers } from "../../provider/endpoints/endpoint-status.ts";
import type { EventRecorder } from "../../runtime/recorder.ts";
import { mergeConditions, stalledCondition, waitingConditions } from "../report.ts";
import type { Cause, Verdict } from "../verdict.ts";
import {
  driftMessage,
  hasOppositeWorkers,
  isStopped,
  notAppliedMessage,
  readiness,
  stopped,
  synced,
} from "./conditions.ts";
import type { Difference } from "./fields.ts";
import { lastChangeOf, type RequestTimes } from "./last-change.ts";
import { isApplied, isSettling } from "./observe.ts";

/** Longest texts of the service in the status, in characters (gpu-endpoint-status.ts). */
const REMOTE_TEXT = { status: 256, error: 4096, message: 8192, image: 511 };
const DRIFT_TEXT = 4096;

/** How a reconcile ended: all that the status is computed from. */
export type Outcome = {
  /** The remote endpoint; undefined when this reconcile did not observe it. */
  record: EndpointRecord | undefined;
  differences: Difference[];
  fighting: boolean;
  /** Fields whose update the service accepts and does not apply. */
  notApplied?: readonly string[];
  /** Why the budget holds the differences back. */
  awaitsBudget?: Cause;
  /** Another object owns the remote endpoint: nothing that was read of it stays in the status. */
  alreadyBound?: boolean;
  /** The service does not show the endpoint that the object is bound to. `Proven`: it does not exist. */
  missing?: "Proven" | "Unproven" | undefined;
  /** Of a verdict that waits: what the status shows of a bound endpoint may be out of date. */
  outdated?: boolean;
  /** The next reconcile continues this step at once, so a reconcile request is not handled yet. */
  continues?: boolean;
  verdict: Verdict;
};

/** The outcome of a reconcile that did not observe the remote. */
export function emptyOutcome(verdict: Verdict): Outcome {
  return { record: undefined, differences: [], fighting: false, verdict };
}

export type Written = Pick<
  GpuEndpointStatus,
  | "endpointID"
  | "appName"
  | "submission"
  | "unconfirmedCreates"
  | "appliedGeneration"
  | "appliedReferencesHash"
  | "lastAppliedTime"
> & {
  account?: GpuEndpointStatus["account"];
  /** Of the request that this reconcile sent, or found to be accepted: `status.lastChange` shows it. */
  request?: RequestTimes;
};

type StatusUpdate = {
  written: Partial<Written>;
  outcome: Outcome;
  /** The reconcile request that this reconcile handles. */
  requested: string | undefined;
  /** For the service's texts. Default: one that knows no secret. */
  sanitize?: Sanitizer | undefined;
};

/** The whole status after a reconcile. Pure. `now`: ms since the epoch. */
export function statusOf(endpoint: GpuEndpoint, { outcome, requested, ...update }: StatusUpdate, now: number) {
  const { request, ...written } = update.written;
  const { status: stored = { conditions: [] }, metadata } = endpoint;
  const otherEndpoint = written.endpointID !== undefined && written.endpointID !== stored.endpointID;
  const previous = outcome.alreadyBound || otherEndpoint ? withoutRemote(stored) : stored;
  const shown = textsOf(endpoint, outcome.record, update.sanitize ?? plainText);
  const record = outcome.record && {
    ...outcome.record,
    status: statusTexts(outcome.record, shown),
    image: shown(outcome.record.image, REMOTE_TEXT.image),
  };
  const status: GpuEndpointStatus = { ...previous, ...written, observedGeneration: metadata.generation };
  if (requested !== undefined && outcome.continues !== true) status.lastHandledReconcileAt = requested;
  if (written.appliedGeneration !== undefined && written.appliedReferencesHash === undefined) {
    delete status.appliedReferencesHash;
  }
  // A read confirms that the endpoint exists.
  if (record !== undefined || status.unconfirmedCreates?.length === 0) delete status.unconfirmedCreates;
  if (record !== undefined) {
    Object.assign(status, remoteStatus(record, metadata.uid));
    const drift = outcome.differences.map(({ field, desired, observed }) => ({
      field,
      desired: desired && plainText(desired, DRIFT_TEXT),
      observed: observed && shown(observed, DRIFT_TEXT),
    }));
    if (drift.length > 0) status.drift = drift;
    else delete status.drift;
    if (endpoint.spec.suspend && isStopped(record)) status.state = "Suspended";
  } else if (outcome.missing !== undefined) {
    for (const field of ["image", "remote", "workers", "drift"] as const) delete status[field];
    status.state = "NotFound";
  }
  const updates = conditionsOf(endpoint, status, { ...outcome, record }, now);
  status.conditions = mergeConditions(previous.conditions, updates, metadata.generation, now);
  const lastChange = lastChangeOf(endpoint, status, request, now);
  if (lastChange !== undefined) status.lastChange = lastChange;
  return status;
}

/** Only what the object itself contributed: the endpoint ID, the app name and what it sent. Nothing of another endpoint. */
function withoutRemote(status: GpuEndpointStatus): GpuEndpointStatus {
  const { type, url, state, image, remote, workers, regionID, memberID, ownerID, createdAt, drift, ...own } = status;
  return { ...own, conditions: removeCondition(removeCondition(status.conditions, "Synced"), "Stopped") };
}

/** Texts of the service may quote a variable: they show only values that the spec has in plain text. */
function textsOf({ spec }: GpuEndpoint, record: EndpointRecord | undefined, sanitize: Sanitizer) {
  const plain = new Set(spec.env?.map(({ value }) => value));
  const hidden = record?.envs.flatMap(({ value }) => (plain.has(value) ? [] : [value]));
  const withoutVariables = createSanitizer({ hidden });
  return (text: string, limit: number) => withoutVariables(sanitize(text, limit), limit);
}

function statusTexts({ status: { status, error, message } }: EndpointRecord, shown: ReturnType<typeof textsOf>) {
  return {
    status: shown(status, REMOTE_TEXT.status),
    error: shown(error, REMOTE_TEXT.error),
    message: shown(message, REMOTE_TEXT.message),
  };
}

function remoteStatus(record: EndpointRecord, uid: string): Partial<GpuEndpointStatus> {
  const text = (key: "type" | "url" | "regionID" | "memberID" | "ownerID") =>
    record[key] === "" ? {} : { [key]: record[key] };
  return {
    endpointID: record.id,
    state: record.status.status,
    ...(record.image === "" ? {} : { image: record.image }),
    remote: {
      status: record.status.status,
      ...(record.status.error === "" ? {} : { error: record.status.error }),
      ...(record.status.message === "" ? {} : { message: record.status.message }),
    },
    workers: {
      total: record.workers.length,
      ready: readyWorkers(record),
      healthy: record.workers.filter((worker) => worker.healthy === true).length,
      draining: record.workers.filter((worker) => worker.draining === true).length,
    },
    selector: `${GROUP}/endpoint=${uid}`,
    ...text("type"),
    ...text("url"),
    ...text("regionID"),
    ...text("memberID"),
    ...text("ownerID"),
    ...(record.createdAt === undefined ? {} : { createdAt: rfc3339(record.createdAt * 1000) }),
  };
}

/**
 * The conditions that an outcome changes. Pure. `status`: as it is about to be written, with the previous conditions. `now`: ms
 * since the epoch.
 */
function conditionsOf(
  endpoint: GpuEndpoint,
  status: GpuEndpointStatus,
  outcome: Outcome,
  now: number,
): ConditionUpdate[] {
  const { record, verdict } = outcome;
  const observed =
    record === undefined
      ? unobserved(endpoint, status, outcome)
      : [readiness(endpoint, record, outcome), synced(endpoint, outcome), ...stopped(endpoint, record)];
  if (verdict.kind === "Stalled" || verdict.kind === "Failed") return [...observed, stalledCondition(verdict)];
  if (verdict.kind === "Waiting" || verdict.kind === "Retry") {
    const outdated = outcome.outdated === true && status.endpointID !== undefined;
    const waiting = waitingConditions(verdict, outdated ? "Unknown" : "False");
    return [...observed, ...waiting.filter(({ type }) => record === undefined || type !== "Ready")];
  }
  const isReady = record !== undefined && readiness(endpoint, record, outcome).status === "True";
  if (isReady || !isSettling(status.lastAppliedTime, now)) return observed;
  const isOpposite = record !== undefined && hasOppositeWorkers(endpoint, record, outcome);
  if (isOpposite && (outcome.fighting || reportingPolicy(endpoint) !== undefined)) return observed;
  const message = isOpposite
    ? "Waiting for the remote endpoint to have the workers of the spec"
    : "Waiting for the remote endpoint to serve";
  return [...observed, { type: "Reconciling", status: "True", reason: "Progressing", message }];
}

/** What a reconcile without a record says of the endpoint. */
function unobserved(endpoint: GpuEndpoint, status: GpuEndpointStatus, outcome: Outcome): ConditionUpdate[] {
  const synced = unobservedSync(endpoint, status, outcome);
  if (outcome.verdict.kind !== "Done" || status.remote !== undefined) return synced;
  const message = "No read shows the new remote endpoint yet";
  return [{ type: "Ready", status: "Unknown", reason: "Progressing", message }, ...synced];
}

/** Synced, where the previous condition does not hold any more: it judged another generation, or an endpoint that is missing. */
function unobservedSync(
  { metadata: { generation } }: GpuEndpoint,
  { conditions, appliedGeneration }: GpuEndpointStatus,
  { missing, verdict }: Outcome,
): ConditionUpdate[] {
  if (missing !== undefined) {
    const proven = missing === "Proven";
    const message = proven ? "The service does not have the endpoint" : "The service does not show the endpoint";
    return [{ type: "Synced", status: proven ? "False" : "Unknown", reason: "RemoteMissing", message }];
  }
  const previous = getCondition(conditions, "Synced");
  if (previous === undefined) return [];
  const { observedGeneration: judged = generation } = previous;
  if (judged === generation && previous.reason !== "Paused") return [];
  const cause: Cause =
    verdict.kind === "Done" ? { reason: "Updating", message: "no read shows the update yet" } : verdict;
  const prefix = appliedGeneration === generation ? "" : `Generation ${generation} is not applied: `;
  return [{ type: "Synced", status: "Unknown", reason: cause.reason, message: `${prefix}${cause.message}` }];
}

/**
 * The status of a paused object. It shows the last observation, with Synced=Unknown. `observedGeneration` does not move, so
 * a change of the spec shows as in progress.
 */
export function pausedStatus(endpoint: GpuEndpoint, now: number): GpuEndpointStatus {
  const previous: GpuEndpointStatus = endpoint.status ?? { conditions: [] };
  const paused = {
    status: "Unknown",
    reason: "Paused",
    message: `The annotation ${ANNOTATIONS.paused} is "true": Mooring neither reads nor changes the remote endpoint; remove the annotation to resume`,
  } as const;
  const updates: ConditionUpdate[] = [{ type: "Synced", ...paused }];
  if (previous.endpointID === undefined) updates.push({ type: "Ready", ...paused });
  const kept = removeCondition(previous.conditions, "Reconciling");
  return { ...previous, conditions: setConditions(kept, updates, rfc3339(now)) };
}

/** `status.account`: what the object is bound to. */
export function boundAccount(ref: AccountRef, baseURL: string): NonNullable<GpuEndpointStatus["account"]> {
  return { kind: ref.kind, name: ref.name, baseURL };
}

/** Sends the warnings of an outcome. The status is still the previous one. */
export function warn(recorder: EventRecorder, endpoint: GpuEndpoint, outcome: Outcome): void {
  warnOfLocalVolumes(recorder, endpoint);
  warnOfFight(recorder, endpoint, outcome);
  warnOfNotApplied(recorder, endpoint, outcome);
  warnOfReportedDrift(recorder, endpoint, outcome);
}

/** Emitted once per generation (interface: "The local type is to be retired"). */
function warnOfLocalVolumes(recorder: EventRecorder, endpoint: GpuEndpoint): void {
  if (endpoint.status?.observedGeneration === endpoint.metadata.generation) return;
  const local = endpoint.spec.volumes?.filter((volume) => volume.type === "local") ?? [];
  if (local.length === 0) return;
  const paths = local.map((volume) => volume.mountPath).join(", ");
  recorder.warning(
    endpoint,
    "LocalVolume",
    "Validate",
    `Volumes of type local (${paths}) are to be retired by the service: move to network volumes`,
  );
}

/** Emitted when Mooring stops re-applying fields that another client keeps reverting. */
function warnOfFight(recorder: EventRecorder, endpoint: GpuEndpoint, outcome: Outcome): void {
  if (!outcome.fighting || getCondition(endpoint.status?.conditions, "Synced")?.reason === "DriftFight") return;
  const fields = outcome.differences.map(({ field }) => field).join(", ");
  recorder.warning(
    endpoint,
    "DriftFight",
    "Reconcile",
    `Another client keeps reverting ${fields}; Mooring stopped re-applying them until the spec changes or a reconcile is requested`,
  );
}

/** Emitted when the remote endpoint begins to differ from a spec that Mooring does not apply again. */
function warnOfReportedDrift(recorder: EventRecorder, endpoint: GpuEndpoint, outcome: Outcome): void {
  const policy = reportingPolicy(endpoint);
  if (policy === undefined || outcome.differences.length === 0 || outcome.verdict.kind !== "Done") return;
  const message = driftMessage(outcome.differences.map(({ field }) => field).join(", "));
  if (getCondition(endpoint.status?.conditions, "Synced")?.message === message) return;
  const note = `${message}; ${policy}, so Mooring does not change it`;
  recorder.warning(endpoint, "Drifted", "Reconcile", note);
}

/** Why drift is not corrected; undefined: it is, or the difference is a change of the spec that is still to be applied. */
function reportingPolicy(endpoint: GpuEndpoint): string | undefined {
  const { managementPolicy, driftPolicy } = endpoint.spec;
  if (managementPolicy === "Observe") return "managementPolicy is Observe";
  return driftPolicy === "Report" && isApplied(endpoint) ? "driftPolicy is Report" : undefined;
}

/** Emitted when the service accepts updates that it does not apply. */
function warnOfNotApplied(
  recorder: EventRecorder,
  endpoint: GpuEndpoint,
  { notApplied = [] }: Pick<Outcome, "notApplied">,
): void {
  if (notApplied.length === 0) return;
  const message = notAppliedMessage(notApplied);
  if (getCondition(endpoint.status?.conditions, "Synced")?.message === message) return;
  recorder.warning(endpoint, "UpdateNotApplied", "Update", message);
}
