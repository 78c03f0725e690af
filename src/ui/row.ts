import { getCondition } from "../api/v1alpha1/conditions.ts";
import { gpuEndpointResource, speechJobResource, videoJobResource } from "../api/v1alpha1/kinds.ts";
import { objectState } from "../describe/object-state.ts";
import type { UiObject } from "./ui-object.ts";
import type { EndpointColumns, JobColumns, ObjectRow } from "./view-types.ts";

/** Longest message of a list, in characters. The object's own page has all of it. */
const MESSAGE_LENGTH = 300;

/** Longest excerpt of a text or a prompt, in characters. */
const ABOUT_LENGTH = 160;

export const JOB_KINDS: readonly string[] = [speechJobResource.kind, videoJobResource.kind];
export const ENDPOINT_KIND: string = gpuEndpointResource.kind;

/** An object as a line of a list. */
export function rowOf(kind: string, object: UiObject): ObjectRow {
  const { namespace = "", name, uid, creationTimestamp } = object.metadata;
  const { message, ...state } = objectState(object);
  return {
    kind,
    namespace,
    name,
    uid,
    ...state,
    message: message.length <= MESSAGE_LENGTH ? message : `${message.slice(0, MESSAGE_LENGTH - 1)}…`,
    created: creationTimestamp,
    about: aboutOf(object),
    cost: costOf(object),
    ...(kind === ENDPOINT_KIND ? { endpoint: endpointColumns(object) } : {}),
    ...(JOB_KINDS.includes(kind) ? { job: jobColumns(object) } : {}),
  };
}

/** The whole text or prompt of a job; undefined: it has none of its own. */
export function textOf({ spec }: UiObject): string | undefined {
  return spec.text ?? spec.imageToVideo?.prompt ?? spec.videoToVideo?.input.prompt;
}

function aboutOf(object: UiObject): string {
  const { image, textFrom } = object.spec;
  const text = textOf(object);
  if (text !== undefined) return text.slice(0, ABOUT_LENGTH).replace(/\s+/g, " ").trim();
  const [source] = Object.values(textFrom ?? {});
  return source === undefined ? (image ?? "") : `text from ${source.name}, ${source.key}`;
}

function costOf({ status }: UiObject): string | undefined {
  const cost = status?.estimatedCost;
  return typeof cost === "object" ? cost.month : cost;
}

function endpointColumns({ spec, status }: UiObject): EndpointColumns {
  const { min = 0, max = 0 } = spec.workers ?? {};
  return {
    remoteState: status?.state ?? "",
    workers: { min, max, ...status?.workers },
    drift: status?.drift?.length ?? 0,
    synced: getCondition(status?.conditions, "Synced")?.status ?? "",
  };
}

function jobColumns({ spec, status }: UiObject): JobColumns {
  const { progressPercent, etaSeconds, duration } = status ?? {};
  return {
    phase: status?.phase ?? "Pending",
    model: spec.model ?? status?.model ?? "",
    voice: spec.voiceSetting?.voiceID ?? "",
    results: status?.results?.length ?? 0,
    progressPercent,
    etaSeconds,
    duration,
  };
}
