import type { ConditionUpdate } from "../../api/v1alpha1/conditions.ts";
import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import type { EndpointRecord } from "../../provider/endpoints/endpoint-record.ts";
import { isServing } from "../../provider/endpoints/endpoint-status.ts";
import type { Cause } from "../verdict.ts";
import type { Difference } from "./fields.ts";

type SyncFacts = {
  differences: readonly Difference[];
  fighting: boolean;
  notApplied?: readonly string[] | undefined;
  awaitsBudget?: Cause | undefined;
};

/**
 * Ready=True: the remote endpoint does what the spec asks for. It follows the status that the service shows. An endpoint
 * without workers can be ready. A suspended one is ready although it serves no requests; its reason says so. With the opposite
 * workers of the spec, Ready is False for the reason of Synced.
 */
export function readiness(endpoint: GpuEndpoint, record: EndpointRecord, sync: SyncFacts): ConditionUpdate {
  const { status, error, message } = record.status;
  if (error !== "") {
    return {
      type: "Ready",
      status: "False",
      reason: "RemoteError",
      message: `The service reports ${error}${message === "" ? "" : `: ${message}`}`,
    };
  }
  if (hasOppositeWorkers(endpoint, record, sync)) return { ...synced(endpoint, sync), type: "Ready" };
  if (endpoint.spec.suspend && (isStopped(record) || isServing(record))) {
    return { type: "Ready", status: "True", reason: "Suspended", message: suspendedMessage(record) };
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

/**
 * Whether the remote endpoint can start workers although the spec wants none, or none although the spec wants some. Any other
 * number of workers leaves an endpoint ready.
 */
export function hasOppositeWorkers(
  { spec }: GpuEndpoint,
  { scaling }: EndpointRecord,
  { differences }: Pick<SyncFacts, "differences">,
): boolean {
  const wantsNone = spec.suspend || spec.workers.max === 0;
  const startsNone = scaling.max === 0 && (scaling.min ?? 0) === 0;
  return wantsNone !== startsNone && differences.some(isWorkerNumber);
}

const isWorkerNumber = ({ field }: Difference) => field === "workers.min" || field === "workers.max";

export function synced(
  { spec }: GpuEndpoint,
  { differences, fighting, notApplied = [], awaitsBudget }: SyncFacts,
): ConditionUpdate {
  if (differences.length === 0) {
    return { type: "Synced", status: "True", reason: "InSync", message: "The remote endpoint matches the spec" };
  }
  const fields = differences.map(({ field }) => field).join(", ");
  if (notApplied.length > 0) {
    return { type: "Synced", status: "False", reason: "UpdateNotApplied", message: notAppliedMessage(notApplied) };
  }
  if (awaitsBudget !== undefined) {
    const { reason, message } = awaitsBudget;
    return {
      type: "Synced",
      status: "False",
      reason,
      message: `${driftMessage(fields)}, and waits for budget: ${message}`,
    };
  }
  // The workers of a suspended endpoint cannot be ignored.
  const ignore = spec.suspend && differences.some(isWorkerNumber) ? "" : ", or add the fields to ignoreDrift";
  return fighting
    ? {
        type: "Synced",
        status: "False",
        reason: "DriftFight",
        message: `Another client keeps reverting ${fields}; Mooring stopped re-applying them: find that client and request a reconcile${ignore}`,
      }
    : {
        type: "Synced",
        status: "False",
        reason: "Drifted",
        message: driftMessage(fields),
      };
}

export function driftMessage(fields: string): string {
  return `The remote endpoint differs from the spec in ${fields}`;
}

export function notAppliedMessage(fields: readonly string[]): string {
  return `The service accepts the update of ${fields.join(", ")} but does not apply it; the update is repeated with backoff`;
}

/** Whether the endpoint can start no worker and has none. */
export function isStopped({ scaling, workers }: EndpointRecord): boolean {
  return scaling.min === 0 && scaling.max === 0 && workers.length === 0;
}

function suspendedMessage(record: EndpointRecord): string {
  return isStopped(record)
    ? "spec.suspend is true: the remote endpoint has no workers and serves no requests"
    : `spec.suspend is true: waiting until the workers stop (${record.workers.length} left)`;
}

export function stopped(endpoint: GpuEndpoint, record: EndpointRecord): ConditionUpdate[] {
  const { scaling, workers } = record;
  if (!endpoint.spec.suspend) {
    const resumed = scaling.max !== 0 || endpoint.spec.workers.max === 0;
    return resumed && endpoint.status?.conditions.some(({ type }) => type === "Stopped")
      ? [{ type: "Stopped", status: "False", reason: "Resumed", message: "spec.suspend is false" }]
      : [];
  }
  return [
    isStopped(record)
      ? { type: "Stopped", status: "True", reason: "Stopped", message: "The endpoint has no workers" }
      : {
          type: "Stopped",
          status: "False",
          reason: "Suspended",
          message:
            workers.length > 0
              ? `Waiting until ${workers.length} workers stop`
              : "The remote endpoint has no workers and can start new ones",
        },
  ];
}
