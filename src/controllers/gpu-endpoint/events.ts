import { getCondition } from "../../api/v1alpha1/conditions.ts";
import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import type { EventRecorder } from "../../runtime/recorder.ts";
import { driftMessage, notAppliedMessage } from "./conditions.ts";
import { isApplied } from "./observe.ts";
import type { Outcome } from "./status.ts";

/** Emitted once per generation (interface: "The local type is to be retired"). */
export function warnOfLocalVolumes(recorder: EventRecorder, endpoint: GpuEndpoint): void {
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
export function warnOfFight(recorder: EventRecorder, endpoint: GpuEndpoint, outcome: Outcome): void {
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
export function warnOfReportedDrift(recorder: EventRecorder, endpoint: GpuEndpoint, outcome: Outcome): void {
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
export function warnOfNotApplied(
  recorder: EventRecorder,
  endpoint: GpuEndpoint,
  { notApplied = [] }: Pick<Outcome, "notApplied">,
): void {
  if (notApplied.length === 0) return;
  const message = notAppliedMessage(notApplied);
  if (getCondition(endpoint.status?.conditions, "Synced")?.message === message) return;
  recorder.warning(endpoint, "UpdateNotApplied", "Update", message);
}
