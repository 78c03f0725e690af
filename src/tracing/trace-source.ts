import type { KubeObject } from "../kube/types.ts";
import { endpointSpans, readyAt, type TracedEndpoint } from "./endpoint-spans.ts";
import { endOf, hasEnded, jobSpans, type TracedJob } from "./job-spans.ts";
import type { Attributes, Span } from "./span.ts";

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
