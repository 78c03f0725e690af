import type { ArtifactStoreStatus } from "../../api/v1alpha1/artifact-store.ts";
import { removeCondition, setConditions } from "../../api/v1alpha1/conditions.ts";
import type { Reason } from "../../api/v1alpha1/reasons.ts";
import type { ArtifactError, ArtifactErrorKind } from "../../artifacts/errors.ts";
import { rfc3339 } from "../../clock.ts";

/** What came of looking at a store. */
export type StoreOutcome =
  | { kind: "Ready" }
  /** `stalled`: a person must act. */
  | { kind: "NotReady"; reason: Reason; message: string; stalled: boolean };

export const READY_MESSAGE = "A small object was written, read back and removed";

const REASONS: Record<ArtifactErrorKind, { reason: Reason; stalled: boolean }> = {
  SourceGone: { reason: "Unreachable", stalled: false },
  SourceUnreachable: { reason: "Unreachable", stalled: false },
  AddressRefused: { reason: "AddressNotAllowed", stalled: true },
  TooLarge: { reason: "Unreachable", stalled: false },
  TooSlow: { reason: "Unreachable", stalled: false },
  InvalidKey: { reason: "InvalidSpec", stalled: true },
  Denied: { reason: "StoreDenied", stalled: true },
  NotFound: { reason: "BucketNotFound", stalled: true },
  StoreUnreachable: { reason: "Unreachable", stalled: false },
  NoSpace: { reason: "StoreFull", stalled: true },
  Corrupt: { reason: "StoreCorrupt", stalled: true },
  Aborted: { reason: "Unreachable", stalled: false },
};

export function probeFailure(error: ArtifactError, volume: boolean): StoreOutcome {
  const { reason, stalled } = REASONS[error.kind];
  const own = volume && (error.kind === "NotFound" || error.kind === "Denied") ? "VolumeNotAvailable" : reason;
  return { kind: "NotReady", reason: own, message: error.message, stalled };
}

/** `generation` and `location` are of the spec that was looked at; `now` in ms. */
export function artifactStoreStatus(
  previous: ArtifactStoreStatus | undefined,
  outcome: StoreOutcome,
  facts: { generation: number | undefined; location: string; handledRequest: string | undefined },
  now: number,
): ArtifactStoreStatus {
  const base: ArtifactStoreStatus = previous ?? { conditions: [] };
  const observedGeneration = facts.generation;
  const time = rfc3339(now);
  const fresh = removeCondition(base.conditions, "Stalled");
  return {
    ...base,
    ...(observedGeneration === undefined ? {} : { observedGeneration }),
    ...(facts.handledRequest === undefined ? {} : { lastHandledReconcileAt: facts.handledRequest }),
    location: facts.location,
    conditions:
      outcome.kind === "Ready"
        ? setConditions(
            fresh,
            [
              {
                type: "Ready",
                status: "True",
                reason: "Ready",
                message: READY_MESSAGE,
                observedGeneration,
              },
            ],
            time,
          )
        : setConditions(
            outcome.stalled ? base.conditions : fresh,
            [
              outcome.stalled
                ? {
                    type: "Stalled",
                    status: "True",
                    reason: outcome.reason,
                    message: outcome.message,
                    observedGeneration,
                  }
                : {
                    type: "Ready",
                    status: "False",
                    reason: outcome.reason,
                    message: outcome.message,
                    observedGeneration,
                  },
            ],
            time,
          ),
  };
}
