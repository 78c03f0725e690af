import { type ConditionUpdate, getCondition, removeCondition, setConditions } from "../../api/v1alpha1/conditions.ts";
import type { GpuEndpoint, GpuEndpointStatus } from "../../api/v1alpha1/gpu-endpoint.ts";
import type { EndpointWorker } from "../../api/v1alpha1/gpu-endpoint-status.ts";
import { ANNOTATIONS, GROUP } from "../../api/v1alpha1/meta.ts";
import { rfc3339, rfc3339Milli } from "../../base/clock.ts";
import { createSanitizer, plainText, type Sanitizer } from "../../base/sanitizer.ts";
import type { EndpointRecord, RemoteStatus } from "../../provider/endpoints/endpoint-record.ts";
import { readyWorkers } from "../../provider/endpoints/endpoint-status.ts";
import { mergeConditions, stalledCondition, waitingConditions } from "../report.ts";
import type { Cause } from "../verdict.ts";
import {
  hasOppositeWorkers,
  isStopped,
  type Outcome,
  readiness,
  reportingPolicy,
  stopped,
  synced,
} from "./conditions.ts";
import { isSettling } from "./observe.ts";
import type { RequestTimes, Written } from "./step.ts";
import { shortStatus, workerItems } from "./worker-items.ts";

/** Longest texts of the service in the status, in characters (gpu-endpoint-status.ts). */
const REMOTE_TEXT = { status: 256, error: 4096, message: 8192, image: 511 };
const DRIFT_TEXT = 4096;

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
  const statusText = ({ status, error, message }: RemoteStatus): RemoteStatus => ({
    status: shown(status, REMOTE_TEXT.status),
    error: shown(error, REMOTE_TEXT.error),
    message: shown(message, REMOTE_TEXT.message),
  });
  const record = outcome.record && {
    ...outcome.record,
    status: statusText(outcome.record.status),
    image: shown(outcome.record.image, REMOTE_TEXT.image),
    workers: outcome.record.workers.map((worker) => ({ ...worker, status: statusText(worker.status) })),
  };
  const { unconfirmedCreates = [], ...others } = { ...previous, ...written };
  const status: GpuEndpointStatus = { ...others, observedGeneration: metadata.generation };
  // A read confirms that the endpoint exists.
  if (record === undefined && unconfirmedCreates.length > 0) status.unconfirmedCreates = unconfirmedCreates;
  if (requested !== undefined && outcome.continues !== true) status.lastHandledReconcileAt = requested;
  if (written.appliedGeneration !== undefined && written.appliedReferencesHash === undefined) {
    delete status.appliedReferencesHash;
  }
  if (record !== undefined) {
    Object.assign(status, remoteStatus(record, metadata.uid, previous.workers?.items));
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
  status.conditions = mergeConditions(previous.conditions, updates, metadata, now);
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
  const hidden = record?.envs.flatMap(({ value }) => (plain.has(value) ? [] : [value])) ?? [];
  if (hidden.length === 0) return sanitize;
  const withoutVariables = createSanitizer({ hidden });
  return (text: string, limit: number) => withoutVariables(sanitize(text, limit), limit);
}

/** The service's texts that the status shows, unless they are empty. */
const TEXTS = ["type", "url", "image", "regionID", "memberID", "ownerID"] as const;

function remoteStatus(record: EndpointRecord, uid: string, before?: EndpointWorker[]): Partial<GpuEndpointStatus> {
  const { status } = record.status;
  const texts: Partial<Record<(typeof TEXTS)[number], string>> = {};
  for (const key of TEXTS) if (record[key] !== "") texts[key] = record[key];
  return {
    endpointID: record.id,
    state: status,
    remote: shortStatus(record.status),
    workers: {
      total: record.workers.length,
      ready: readyWorkers(record),
      healthy: record.workers.filter((worker) => worker.healthy === true).length,
      draining: record.workers.filter((worker) => worker.draining === true).length,
      ...workerItems(record, before),
    },
    selector: `${GROUP}/endpoint=${uid}`,
    ...texts,
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
  if (outcome.verdict.kind !== "Done") return synced;
  const { generation } = endpoint.metadata;
  const judged = getCondition(status.conditions, "Ready")?.observedGeneration ?? generation;
  if (status.remote !== undefined && judged === generation) return synced;
  const message = `No read shows the ${status.remote === undefined ? "new remote endpoint" : "update"} yet`;
  return [{ type: "Ready", status: "Unknown", reason: "Progressing", message }, ...synced];
}

/**
 * Synced, where the previous condition does not hold any more: it judged another generation or an endpoint that is missing, or it shows
 * what an earlier reconcile waited for.
 */
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
  const { observedGeneration: judged = generation, status, reason } = previous;
  const isObserved = status !== "Unknown" || reason === "RemoteMissing";
  if (judged === generation && isObserved) return [];
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

type LastChange = GpuEndpointStatus["lastChange"];

/**
 * `status.lastChange` after a reconcile. Each time is set once per generation: later drift and outages do not move it. Pure.
 * @param status the status to write, with its conditions
 * @param request the request that this reconcile sent
 * @param now ms since the epoch
 */
export function lastChangeOf(
  endpoint: GpuEndpoint,
  status: GpuEndpointStatus,
  request: RequestTimes | undefined,
  now: number,
): LastChange {
  const { generation } = endpoint.metadata;
  const { lastChange: previous, observedGeneration } = endpoint.status ?? {};
  // The generation was reconciled before, and its times are not in the status.
  if (previous === undefined && observedGeneration === generation) return undefined;
  const time = rfc3339Milli(now);
  const change = previous?.generation === generation ? previous : { generation, observedTime: time };
  if (change.readyTime !== undefined) return change;

  const synced = holds(status, "Synced", generation) ? { syncedTime: time } : undefined;
  const ready = synced && holds(status, "Ready", generation) ? { readyTime: time } : undefined;
  return { ...request, ...synced, ...change, ...ready };
}

function holds({ conditions }: GpuEndpointStatus, type: "Synced" | "Ready", generation: number): boolean {
  const condition = getCondition(conditions, type);
  return condition?.status === "True" && condition.observedGeneration === generation;
}
