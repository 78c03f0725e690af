import { createHash } from "node:crypto";
import { ANNOTATIONS } from "../api/v1alpha1/meta.ts";
import type { KubeObject } from "../kube/types.ts";
import { attributesOf, type Span } from "./span.ts";

/** The parent of a trace (W3C Trace Context). */
export type Traceparent = { traceID: string; spanID: string; sampled: boolean };

/** Version, trace ID, parent ID and flags. A version after 00 may have more fields. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const SAMPLED = 1;

/** Reads a `traceparent`. Undefined: it is not valid. */
export function parseTraceparent(value: string): Traceparent | undefined {
  const [, version, traceID, spanID, flags, more] = TRACEPARENT.exec(value) ?? [];
  if (traceID === undefined || spanID === undefined || flags === undefined) return undefined;
  if (version === "00" && more !== undefined) return undefined;
  return { traceID, spanID, sampled: (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED };
}

/** The annotation of an object, without white space at its ends. Undefined: it has none. */
export function traceparentOf({ metadata }: KubeObject): string | undefined {
  return metadata.annotations?.[ANNOTATIONS.traceparent]?.trim();
}

/** The parent that the annotation names. Undefined: there is none, or it is not valid. */
export function parentOf(object: KubeObject): Traceparent | undefined {
  return parseTraceparent(traceparentOf(object) ?? "");
}

/**
 * The ID of the trace of a job, or of the last change of an endpoint, in hex. It is known from the first status on, and a restart does
 * not change it: it is that of the annotation, else a hash of UID and generation.
 */
export function traceIdOf(object: KubeObject): string {
  return parentOf(object)?.traceID ?? hash(`trace/${identityOf(object)}`, 16);
}

/** The ID of a span. `path`: its name, and what tells it apart from others of the same name in the trace. */
export function spanIdOf(object: KubeObject, path: string): string {
  return hash(`span/${identityOf(object)}/${path}`, 8);
}

/** A job has one trace. An endpoint has one for each generation. */
function identityOf({ metadata, status }: KubeObject): string {
  const generation = changedGeneration(status);
  return generation === undefined ? `${metadata.uid}` : `${metadata.uid}/${generation}`;
}

/** The span of a whole trace. `more`: attributes besides those of every object. */
export function rootSpan(
  object: KubeObject,
  name: string,
  times: Pick<Span, "startMs" | "endMs">,
  more: Parameters<typeof attributesOf>[0],
): Span {
  const { metadata } = object;
  const own = {
    "k8s.namespace.name": metadata.namespace,
    "mooring.kind": name,
    "mooring.name": metadata.name,
    "mooring.uid": metadata.uid,
  };
  const ids = { traceID: traceIdOf(object), spanID: spanIdOf(object, "root"), parentSpanID: parentOf(object)?.spanID };
  return { name, ...ids, ...times, attributes: attributesOf({ ...own, ...more }) };
}

function changedGeneration(status: unknown): unknown {
  if (typeof status !== "object" || status === null || !("lastChange" in status)) return undefined;
  const change = status.lastChange;
  return typeof change === "object" && change !== null && "generation" in change ? change.generation : undefined;
}

function hash(text: string, bytes: number): string {
  return createHash("sha256")
    .update(text)
    .digest("hex")
    .slice(0, 2 * bytes);
}
