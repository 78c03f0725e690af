import { getCondition } from "../../api/v1alpha1/conditions.ts";
import type { GpuEndpoint, GpuEndpointStatus } from "../../api/v1alpha1/gpu-endpoint.ts";
import { rfc3339Milli } from "../../base/clock.ts";

type LastChange = GpuEndpointStatus["lastChange"];

/** When a create or update was sent, and when the service accepted it. RFC 3339 with milliseconds. */
export type RequestTimes = { sentTime: string; acceptedTime: string };

/**
 * `status.lastChange` after a reconcile. Each time is set once per generation: later drift and outages do not move it. Pure.
 * @param status as it is about to be written, with its conditions @param request the request that this reconcile sent
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

  const sentTime = change.sentTime ?? request?.sentTime;
  const acceptedTime = change.acceptedTime ?? request?.acceptedTime;
  const syncedTime = change.syncedTime ?? (holds(status, "Synced", generation) ? time : undefined);
  const isReady = holds(status, "Synced", generation) && holds(status, "Ready", generation);
  return {
    ...change,
    ...(sentTime === undefined ? {} : { sentTime }),
    ...(acceptedTime === undefined ? {} : { acceptedTime }),
    ...(syncedTime === undefined ? {} : { syncedTime }),
    ...(isReady ? { readyTime: time } : {}),
  };
}

function holds({ conditions }: GpuEndpointStatus, type: "Synced" | "Ready", generation: number): boolean {
  const condition = getCondition(conditions, type);
  return condition?.status === "True" && condition.observedGeneration === generation;
}
