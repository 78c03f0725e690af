import { type ConditionUpdate, getCondition } from "../../api/v1alpha1/conditions.ts";
import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import type { EndpointRecord } from "../../provider/endpoints/endpoint-record.ts";
import { isServing } from "../../provider/endpoints/endpoint-status.ts";
import type { EventRecorder } from "../../runtime/recorder.ts";
import type { Cause, Verdict } from "../verdict.ts";
import type { Difference } from "./fields.ts";
import { isApplied } from "./observe.ts";

/** The outcome of a reconcile, from which the status is computed. */
export type Outcome = {
  /** The remote endpoint; undefined when this reconcile did not observe it. */
  record: EndpointRecord | undefined;
  differences: Difference[];
  fighting: boolean;
  /** Fields whose update the service accepts and does not apply. */
  notApplied?: readonly string[];
  /** Why the budget delays the differences. */
  awaitsBudget?: Cause;
  /** Another object owns the remote endpoint: nothing that was read of it stays in the status. */
  alreadyBound?: boolean;
  /** The service does not show the endpoint that the object is bound to. `Proven`: it does not exist. */
  missing?: "Proven" | "Unproven" | undefined;
  /** Of a verdict that waits: what the status shows of a bound endpoint may be out of date. */
  outdated?: boolean;
  /** A create waits that a reconcile request may have released, so the request is not handled yet. Default false. */
  continues?: boolean;
  verdict: Verdict;
};

/** The outcome of a reconcile that did not observe the remote. */
export function emptyOutcome(verdict: Verdict): Outcome {
  return { record: undefined, differences: [], fighting: false, verdict };
}

/** The outcome of a reconcile that waits. `againMs`: when the object is reconciled again. */
export function waiting({ reason, message }: Cause, againMs: number): Outcome {
  return emptyOutcome({ kind: "Waiting", reason, message, againMs });
}

type SyncFacts = Pick<Outcome, "differences" | "fighting" | "notApplied" | "awaitsBudget">;

/**
 * Ready=True: the remote endpoint does what the spec asks for. It follows the status that the service shows. An endpoint
 * without workers can be ready. A suspended one is ready although it serves no requests; its reason says so. With the opposite
 * workers of the spec, Ready is False for the reason of Synced.
 */
export function readiness(endpoint: GpuEndpoint, record: EndpointRecord, sync: SyncFacts): ConditionUpdate {
  const type = "Ready";
  const { status, error, message } = record.status;
  const details = message === "" ? "" : `: ${message}`;
  if (error !== "") {
    return { type, status: "False", reason: "RemoteError", message: `The service reports ${error}${details}` };
  }
  if (hasOppositeWorkers(endpoint, record, sync)) return { ...synced(endpoint, sync), type };
  if (endpoint.spec.suspend && (isStopped(record) || isServing(record))) {
    return { type, status: "True", reason: "Suspended", message: suspendedMessage(record) };
  }
  if (isServing(record)) {
    return { type, status: "True", reason: "Serving", message: `The remote endpoint is ${status}` };
  }
  const unknown = `The remote endpoint is "${status}"${details}`;
  return { type, status: "Unknown", reason: "RemoteStateUnknown", message: unknown };
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

export function synced({ spec }: GpuEndpoint, facts: SyncFacts): ConditionUpdate {
  const { differences, fighting, notApplied = [], awaitsBudget } = facts;
  const type = "Synced";
  if (differences.length === 0) {
    return { type, status: "True", reason: "InSync", message: "The remote endpoint matches the spec" };
  }
  const drift = driftMessage(differences);
  const status = "False";
  if (notApplied.length > 0) {
    return { type, status, reason: "UpdateNotApplied", message: notAppliedMessage(notApplied) };
  }
  if (awaitsBudget !== undefined) {
    const { reason, message } = awaitsBudget;
    return { type, status, reason, message: `${drift}, and waits for budget: ${message}` };
  }
  if (!fighting) return { type, status, reason: "Drifted", message: drift };
  // The workers of a suspended endpoint cannot be ignored.
  const ignore = spec.suspend && differences.some(isWorkerNumber) ? "" : ", or add the fields to ignoreDrift";
  const message = `${fightMessage(differences)}: find that client and request a reconcile${ignore}`;
  return { type, status, reason: "DriftFight", message };
}

const namesOf = (differences: readonly Difference[]) => differences.map(({ field }) => field).join(", ");
const driftMessage = (differences: readonly Difference[]) =>
  `The remote endpoint differs from the spec in ${namesOf(differences)}`;
const fightMessage = (differences: readonly Difference[]) =>
  `Another client keeps reverting ${namesOf(differences)}; Mooring stopped re-applying them`;
const notAppliedMessage = (fields: readonly string[]) =>
  `The service accepts the update of ${fields.join(", ")} but does not apply it; the update is repeated with backoff`;

/** Whether the endpoint can start no worker and has none. */
export function isStopped({ scaling, workers }: EndpointRecord): boolean {
  return scaling.min === 0 && scaling.max === 0 && workers.length === 0;
}

function suspendedMessage(record: EndpointRecord): string {
  return isStopped(record)
    ? "spec.suspend is true: the remote endpoint has no workers and serves no requests"
    : `spec.suspend is true: waiting until the workers stop (${record.workers.length} left)`;
}

export function stopped({ spec, status }: GpuEndpoint, record: EndpointRecord): ConditionUpdate[] {
  const { scaling, workers } = record;
  const type = "Stopped";
  if (!spec.suspend) {
    const resumed = scaling.max !== 0 || spec.workers.max === 0;
    if (!resumed || getCondition(status?.conditions, type) === undefined) return [];
    return [{ type, status: "False", reason: "Resumed", message: "spec.suspend is false" }];
  }
  if (isStopped(record)) return [{ type, status: "True", reason: "Stopped", message: "The endpoint has no workers" }];
  const message =
    workers.length > 0
      ? `Waiting until ${workers.length} workers stop`
      : "The remote endpoint has no workers and can start new ones";
  return [{ type, status: "False", reason: "Suspended", message }];
}

/** Sends the warnings of an outcome. The status is still the previous one. */
export function warn(recorder: EventRecorder, endpoint: GpuEndpoint, outcome: Outcome): void {
  const { differences, fighting, notApplied = [], verdict } = outcome;
  const { spec, status, metadata } = endpoint;
  const synced = getCondition(status?.conditions, "Synced");

  // Once per generation (interface: "The local type is to be retired").
  const local = spec.volumes?.filter((volume) => volume.type === "local") ?? [];
  if (local.length > 0 && status?.observedGeneration !== metadata.generation) {
    const paths = local.map((volume) => volume.mountPath).join(", ");
    const note = `Volumes of type local (${paths}) are to be retired by the service: move to network volumes`;
    recorder.warning(endpoint, "LocalVolume", "Validate", note);
  }
  if (fighting && synced?.reason !== "DriftFight") {
    const note = `${fightMessage(differences)} until the spec changes or a reconcile is requested`;
    recorder.warning(endpoint, "DriftFight", "Reconcile", note);
  }
  if (notApplied.length > 0 && synced?.message !== notAppliedMessage(notApplied)) {
    recorder.warning(endpoint, "UpdateNotApplied", "Update", notAppliedMessage(notApplied));
  }
  // The remote endpoint begins to differ from a spec that Mooring does not apply again.
  const policy = reportingPolicy(endpoint);
  const drift = driftMessage(differences);
  if (policy !== undefined && differences.length > 0 && verdict.kind === "Done" && synced?.message !== drift) {
    recorder.warning(endpoint, "Drifted", "Reconcile", `${drift}; ${policy}, so Mooring does not change it`);
  }
}

/** Why drift is not corrected; undefined: it is, or the difference is a change of the spec that is still to be applied. */
export function reportingPolicy(endpoint: GpuEndpoint): string | undefined {
  const { managementPolicy, driftPolicy } = endpoint.spec;
  if (managementPolicy === "Observe") return "managementPolicy is Observe";
  return driftPolicy === "Report" && isApplied(endpoint) ? "driftPolicy is Report" : undefined;
}
