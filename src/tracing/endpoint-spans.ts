import type { GpuEndpointStatus } from "../api/v1alpha1/gpu-endpoint.ts";
import type { KubeObject } from "../kube/types.ts";
import { attributesOf, type Span } from "./span.ts";
import { parentOf, spanIdOf, traceIdOf } from "./trace-context.ts";

export type TracedChange = NonNullable<GpuEndpointStatus["lastChange"]>;

export type TracedEndpoint = KubeObject<unknown, Pick<GpuEndpointStatus, "lastChange" | "endpointID"> | undefined>;

/** How a change ended before the endpoint was ready with it. `atMs`: ms since the epoch. */
export type CutOff = { outcome: "Superseded" | "Deleted"; atMs: number };

const KIND = "GpuEndpoint";

/** When the endpoint was ready with its last change, ms since the epoch. */
export function readyAt({ status }: TracedEndpoint): number | undefined {
  const time = status?.lastChange?.readyTime;
  return time === undefined ? undefined : Date.parse(time);
}

/**
 * The trace of the last change of an endpoint, from its object alone: the root span first. Pure. The children cover the whole time
 * without a gap. Empty: the change has not ended.
 */
export function endpointSpans(endpoint: TracedEndpoint, cutOff?: CutOff): Span[] {
  const { metadata, status } = endpoint;
  const change = status?.lastChange;
  const endMs = readyAt(endpoint) ?? cutOff?.atMs;
  if (change === undefined || endMs === undefined) return [];
  const observedAt = Date.parse(change.observedTime);
  // The first generation begins with the object.
  const begunAt = change.generation === 1 ? Date.parse(metadata.creationTimestamp ?? "") : observedAt;
  const startMs = Math.min(endMs, begunAt, observedAt);
  const traceID = traceIdOf(endpoint);
  const spanID = spanIdOf(endpoint, "root");
  const root: Span = {
    name: KIND,
    traceID,
    spanID,
    parentSpanID: parentOf(endpoint)?.spanID,
    startMs,
    endMs,
    attributes: attributesOf({
      "k8s.namespace.name": metadata.namespace,
      "mooring.kind": KIND,
      "mooring.name": metadata.name,
      "mooring.uid": metadata.uid,
      "mooring.generation": change.generation,
      "mooring.endpoint.id": status?.endpointID,
      "mooring.outcome": change.readyTime === undefined ? cutOff?.outcome : "Ready",
    }),
  };
  const steps = stepsOf(change, startMs, endMs).map(
    (step): Span => ({ ...step, traceID, spanID: spanIdOf(endpoint, step.name), parentSpanID: spanID, attributes: {} }),
  );
  return [root, ...steps];
}

/** The steps one after the other. The one that has not ended ends with the trace. */
function stepsOf(change: TracedChange, startMs: number, endMs: number): Pick<Span, "name" | "startMs" | "endMs">[] {
  const { sentTime, acceptedTime, syncedTime, readyTime } = change;
  // Without a request, the service has what the spec asks for.
  const needsRequest = sentTime !== undefined || syncedTime === undefined;
  const ends = [
    ...(needsRequest ? [{ name: "prepare", time: sentTime }] : []),
    ...(needsRequest ? [{ name: "request", time: acceptedTime }] : []),
    { name: "confirm", time: syncedTime },
    { name: "boot", time: readyTime },
  ];
  const steps: Pick<Span, "name" | "startMs" | "endMs">[] = [];
  let cursor = startMs;
  for (const { name, time } of ends) {
    const end = time === undefined ? endMs : Math.min(endMs, Math.max(cursor, Date.parse(time)));
    steps.push({ name, startMs: cursor, endMs: end });
    if (time === undefined) break;
    cursor = end;
  }
  return steps;
}
