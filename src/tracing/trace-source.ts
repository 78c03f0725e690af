import type { GpuEndpointStatus } from "../api/v1alpha1/gpu-endpoint.ts";
import type { KubeObject } from "../kube/types.ts";
import { endOf, hasEnded, jobSpans, type TracedJob } from "./job-spans.ts";
import type { Attributes, Span } from "./span.ts";
import { rootSpan, spanIdOf } from "./trace-context.ts";

/** A trace that has ended, and the object that it is of. */
export type EndedTrace = { object: KubeObject; spans: Span[]; endMs: number };

/** Which traces the objects of a kind have, and when they end. Pure. */
export type TraceSource<T extends KubeObject> = {
  /** The traces that end with a write of the status. */
  endedBy(before: T, after: T): EndedTrace[];
  /** The last trace of an object, if it has ended. */
  last(object: T): EndedTrace | undefined;
  /** The trace that the deletion of an object cuts off. `nowMs`: when it is gone. */
  cutOff(object: T, nowMs: number): EndedTrace | undefined;
};

/** @param attributes of the root span of a job, besides those of every object */
export function jobTraces<T extends TracedJob>(kind: string, attributes: (job: T) => Attributes): TraceSource<T> {
  const trace = (job: T, deletedAtMs?: number): EndedTrace | undefined => {
    const endMs = deletedAtMs ?? endOf(job);
    const deletion = deletedAtMs === undefined ? {} : { deletedAtMs };
    return ended(job, jobSpans(job, { kind, attributes: attributes(job), ...deletion }), endMs);
  };
  return {
    endedBy: (before, after) => (hasEnded(before) ? [] : listOf(trace(after))),
    last: (job) => trace(job),
    cutOff: (job, nowMs) => (hasEnded(job) ? undefined : trace(job, deletionOf(job, nowMs))),
  };
}

export const endpointTraces: TraceSource<TracedEndpoint> = {
  endedBy(before, after) {
    const [previous, change] = [before.status?.lastChange, after.status?.lastChange];
    const isSame = previous?.generation === change?.generation;
    if (isSame && previous?.readyTime !== undefined) return [];
    const done = listOf(endpointTraces.last(after));
    if (isSame || previous === undefined || change === undefined || previous.readyTime !== undefined) return done;
    const atMs = Date.parse(change.observedTime);
    return [...listOf(ended(before, endpointSpans(before, { outcome: "Superseded", atMs }), atMs)), ...done];
  },
  last: (endpoint) => ended(endpoint, endpointSpans(endpoint), readyAt(endpoint)),
  cutOff(endpoint, nowMs) {
    if (readyAt(endpoint) !== undefined) return undefined;
    const atMs = deletionOf(endpoint, nowMs);
    return ended(endpoint, endpointSpans(endpoint, { outcome: "Deleted", atMs }), atMs);
  },
};

function ended(object: KubeObject, spans: Span[], endMs: number | undefined): EndedTrace | undefined {
  return spans.length === 0 || endMs === undefined ? undefined : { object, spans, endMs };
}

function listOf(trace: EndedTrace | undefined): EndedTrace[] {
  return trace === undefined ? [] : [trace];
}

function deletionOf({ metadata }: KubeObject, nowMs: number): number {
  return metadata.deletionTimestamp === undefined ? nowMs : Date.parse(metadata.deletionTimestamp);
}

// The spans of an endpoint

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
  const root = rootSpan(
    endpoint,
    KIND,
    { startMs, endMs },
    {
      "mooring.generation": change.generation,
      "mooring.endpoint.id": status?.endpointID,
      "mooring.outcome": change.readyTime === undefined ? cutOff?.outcome : "Ready",
    },
  );
  const { traceID, spanID } = root;
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
