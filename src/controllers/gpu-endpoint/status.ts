import { type ConditionUpdate, removeCondition, setConditions } from "../../api/v1alpha1/conditions.ts";
import type { GpuEndpoint, GpuEndpointStatus } from "../../api/v1alpha1/gpu-endpoint.ts";
import { type AccountRef, ANNOTATIONS, GROUP } from "../../api/v1alpha1/meta.ts";
import { rfc3339 } from "../../clock.ts";
import type { EndpointRecord } from "../../provider/endpoints/endpoint-record.ts";
import { isServing, readyWorkers } from "../../provider/endpoints/endpoint-status.ts";
import { withoutValues } from "../../provider/errors.ts";
import { mergeConditions, stalledCondition, waitingConditions } from "../report.ts";
import type { Verdict } from "../verdict.ts";
import type { Difference } from "./drift.ts";
import { isSettling } from "./observe.ts";

/** How a reconcile ended: all that the status is computed from. */
export type Outcome = {
  /** The remote endpoint; undefined when this reconcile did not observe it. */
  record: EndpointRecord | undefined;
  differences: Difference[];
  fighting: boolean;
  /** Fields whose update the service accepts and does not apply. */
  notApplied?: readonly string[];
  /** Another object owns the remote endpoint: nothing that was read of it stays in the status. */
  alreadyBound?: boolean;
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
  "endpointID" | "appName" | "submission" | "appliedGeneration" | "appliedReferencesHash" | "lastAppliedTime"
> & { account?: GpuEndpointStatus["account"] };

export type StatusUpdate = {
  written: Partial<Written>;
  outcome: Outcome;
  /** The reconcile request that this reconcile handles. */
  requested: string | undefined;
};

/** The whole status after a reconcile. Pure. `now`: ms since the epoch. */
export function statusOf(endpoint: GpuEndpoint, { written, outcome, requested }: StatusUpdate, now: number) {
  const { status: stored = { conditions: [] }, metadata } = endpoint;
  const previous = outcome.alreadyBound ? withoutRemote(stored) : stored;
  const record = outcome.record && withoutEnvValues(outcome.record, endpoint);
  const status: GpuEndpointStatus = { ...previous, ...written, observedGeneration: metadata.generation };
  if (requested !== undefined && outcome.continues !== true) status.lastHandledReconcileAt = requested;
  if (written.appliedGeneration !== undefined && written.appliedReferencesHash === undefined) {
    delete status.appliedReferencesHash;
  }
  if (record !== undefined) {
    Object.assign(status, remoteStatus(record, metadata.uid));
    const drift = outcome.differences.map(({ field, desired, observed }) => ({ field, desired, observed }));
    if (drift.length > 0) status.drift = drift;
    else delete status.drift;
  }
  const updates = conditionsOf(endpoint, status, { ...outcome, record }, now);
  status.conditions = mergeConditions(previous.conditions, updates, metadata.generation, now);
  return status;
}

/** Only what the object itself contributed: the endpoint ID, the app name and what it sent. */
function withoutRemote(status: GpuEndpointStatus): GpuEndpointStatus {
  const { type, url, remote, workers, regionID, memberID, ownerID, createdAt, drift, ...own } = status;
  return { ...own, conditions: removeCondition(removeCondition(status.conditions, "Synced"), "Stopped") };
}

/** Status texts of the service may quote a variable: they show only values that the spec has in plain text. */
function withoutEnvValues(record: EndpointRecord, { spec }: GpuEndpoint): EndpointRecord {
  const plain = new Set(spec.env?.map(({ value }) => value));
  const hidden = record.envs.flatMap(({ value }) => (plain.has(value) ? [] : [value]));
  const { status, error, message } = record.status;
  return {
    ...record,
    status: { status, error: withoutValues(error, hidden), message: withoutValues(message, hidden) },
  };
}

function remoteStatus(record: EndpointRecord, uid: string): Partial<GpuEndpointStatus> {
  const text = (key: "type" | "url" | "regionID" | "memberID" | "ownerID") =>
    record[key] === "" ? {} : { [key]: record[key] };
  return {
    endpointID: record.id,
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

function conditionsOf(
  endpoint: GpuEndpoint,
  status: GpuEndpointStatus,
  outcome: Outcome,
  now: number,
): ConditionUpdate[] {
  const { record, verdict } = outcome;
  const observed = record === undefined ? [] : [readiness(record), synced(outcome), ...stopped(endpoint, record)];
  if (verdict.kind === "Stalled" || verdict.kind === "Failed") return [...observed, stalledCondition(verdict)];
  if (verdict.kind === "Waiting" || verdict.kind === "Retry") {
    const outdated = outcome.outdated === true && status.endpointID !== undefined;
    const waiting = waitingConditions(verdict, outdated ? "Unknown" : "False");
    return [...observed, ...waiting.filter(({ type }) => record === undefined || type !== "Ready")];
  }
  const serves = record !== undefined && readiness(record).status === "True";
  if (serves || !isSettling(status.lastAppliedTime, now)) return observed;
  const message = "Waiting for the remote endpoint to serve";
  return [...observed, { type: "Reconciling", status: "True", reason: "Progressing", message }];
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

/** Ready follows the status that the service shows. An endpoint without workers can be ready. */
function readiness(record: EndpointRecord): ConditionUpdate {
  const { status, error, message } = record.status;
  if (error !== "") {
    return {
      type: "Ready",
      status: "False",
      reason: "RemoteError",
      message: `The service reports ${error}${message === "" ? "" : `: ${message}`}`,
    };
  }
  if (isServing(record)) {
    return { type: "Ready", status: "True", reason: "Serving", message: `The remote endpoint is ${status}` };
  }
  return {
    type: "Ready",
    status: "Unknown",
    reason: "RemoteStateUnknown",
    message: `The remote endpoint is "${status}"${message === "" ? "" : `: ${message}`}`,
  };
}

function synced({ differences, fighting, notApplied = [] }: Outcome): ConditionUpdate {
  if (differences.length === 0) {
    return { type: "Synced", status: "True", reason: "InSync", message: "The remote endpoint matches the spec" };
  }
  const fields = differences.map(({ field }) => field).join(", ");
  if (notApplied.length > 0) {
    return { type: "Synced", status: "False", reason: "UpdateNotApplied", message: notAppliedMessage(notApplied) };
  }
  return fighting
    ? {
        type: "Synced",
        status: "False",
        reason: "DriftFight",
        message: `Another client keeps reverting ${fields}; Mooring stopped re-applying them: find that client and request a reconcile, or add the fields to ignoreDrift`,
      }
    : {
        type: "Synced",
        status: "False",
        reason: "Drifted",
        message: `The remote endpoint differs from the spec in ${fields}`,
      };
}

export function notAppliedMessage(fields: readonly string[]): string {
  return `The service accepts the update of ${fields.join(", ")} but does not apply it; the update is repeated with backoff`;
}

function stopped(endpoint: GpuEndpoint, { scaling, workers }: EndpointRecord): ConditionUpdate[] {
  if (!endpoint.spec.suspend) {
    const resumed = scaling.max !== 0 || endpoint.spec.workers.max === 0;
    return resumed && endpoint.status?.conditions.some(({ type }) => type === "Stopped")
      ? [{ type: "Stopped", status: "False", reason: "Resumed", message: "spec.suspend is false" }]
      : [];
  }
  const done = scaling.min === 0 && scaling.max === 0 && workers.length === 0;
  return [
    done
      ? { type: "Stopped", status: "True", reason: "Stopped", message: "The endpoint has no workers" }
      : {
          type: "Stopped",
          status: "False",
          reason: "Suspended",
          message: `Waiting until ${workers.length} workers stop`,
        },
  ];
}

/** `status.account`: what the object is bound to. */
export function boundAccount(ref: AccountRef, baseURL: string): NonNullable<GpuEndpointStatus["account"]> {
  return { kind: ref.kind, name: ref.name, baseURL };
}
