import type { ArtifactStore, ArtifactStoreStatus } from "../../api/v1alpha1/artifact-store.ts";
import type { ConditionUpdate } from "../../api/v1alpha1/conditions.ts";
import type { ArtifactError } from "../../artifacts/errors.ts";
import { mergeConditions, stalledCondition } from "../report.ts";
import { artifactVerdict, type Verdict } from "../verdict.ts";

/** How a probe of a store ended: Done is a usable store. */
export type StoreVerdict = Extract<Verdict, { kind: "Done" | "Stalled" | "Retry" }>;

export const READY_MESSAGE = "A test object was written, read back and removed";

/**
 * The verdict on an error of a probe. A folder of a volume that is missing or denied has a reason of its own. Each probe writes a key of its
 * own, which the message leaves out: it is the same for the same problem, so that it is written once.
 */
export function probeVerdict(error: ArtifactError, volume: boolean): StoreVerdict {
  const verdict = artifactVerdict(error);
  const unavailable = volume && (error.kind === "NotFound" || error.kind === "Denied");
  const stable = (message: string) => message.replace(PROBE_KEY, ".mooring-probe-*");
  if (verdict.kind !== "Stalled") {
    return { kind: "Retry", reason: "Unreachable", message: stable(error.message), error };
  }
  return {
    ...verdict,
    message: stable(verdict.message),
    ...(unavailable ? { reason: "VolumeNotAvailable" } : {}),
  };
}

const PROBE_KEY = /\.mooring-probe-[-0-9a-f]{36}/g;

/** `location` and the generation are of the spec that was probed; `now` in ms. */
export function artifactStoreStatus(
  store: ArtifactStore,
  verdict: StoreVerdict,
  facts: { location: string; handledRequest: string | undefined },
  now: number,
): ArtifactStoreStatus {
  const base: ArtifactStoreStatus = store.status ?? { conditions: [] };
  const { generation } = store.metadata;
  return {
    ...base,
    observedGeneration: generation,
    ...(facts.handledRequest === undefined ? {} : { lastHandledReconcileAt: facts.handledRequest }),
    location: facts.location,
    conditions: mergeConditions(base.conditions, [updateOf(verdict)], store.metadata, now),
  };
}

/** A store that is not reachable is not being worked on: it has no Reconciling condition. */
function updateOf(verdict: StoreVerdict): ConditionUpdate {
  if (verdict.kind === "Done") return { type: "Ready", status: "True", reason: "Ready", message: READY_MESSAGE };
  if (verdict.kind === "Stalled") return stalledCondition(verdict);
  return { type: "Ready", status: "False", reason: verdict.reason, message: verdict.message };
}
