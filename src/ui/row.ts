import { getCondition } from "../api/v1alpha1/conditions.ts";
import { gpuEndpointResource, mediaBatchResource, speechJobResource, videoJobResource } from "../api/v1alpha1/kinds.ts";
import { objectState } from "../describe/object-state.ts";
import type { UiObject } from "./ui-object.ts";
import type { EndpointColumns, JobColumns, ObjectRow } from "./view-types.ts";

/** Longest message of a list, in characters. The object's own page has all of it. */
const MESSAGE_LENGTH = 300;

/** Longest excerpt of a text or a prompt, in characters. */
const ABOUT_LENGTH = 160;

export const JOB_KINDS: readonly string[] = [speechJobResource.kind, videoJobResource.kind];
export const ENDPOINT_KIND: string = gpuEndpointResource.kind;

export const BATCH_KIND: string = mediaBatchResource.kind;

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
    ...(JOB_KINDS.includes(kind) || kind === BATCH_KIND ? { job: jobColumns(object) } : {}),
  };
}

/** The whole text or prompt of a job; undefined: it has none of its own. */
export function textOf({ spec }: UiObject): string | undefined {
  return spec.text ?? spec.imageToVideo?.prompt ?? spec.videoToVideo?.input.prompt;
}

function aboutOf(object: UiObject): string {
  if (object.spec.template !== undefined) return itemsText(object.status) ?? "";
  const { image, textFrom } = object.spec;
  const text = textOf(object);
  if (text !== undefined) return text.slice(0, ABOUT_LENGTH).replace(/\s+/g, " ").trim();
  const [source] = Object.values(textFrom ?? {});
  if (source === undefined) return image ?? "";
  return `text from ${"storeRef" in source ? source.storeRef.name : source.name}, ${source.key}`;
}

/** How far a batch is. Undefined: its items are not checked yet. */
export function itemsText(status: UiObject["status"]): string | undefined {
  const { total, succeeded = 0, failed = 0, active = 0, halted = 0 } = status ?? {};
  if (total === undefined) return undefined;
  const others = { failed, active, halted };
  const parts = Object.entries(others).flatMap(([what, count]) => (count > 0 ? [`${count} ${what}`] : []));
  return [`${succeeded} of ${total} items succeeded`, ...parts].join(", ");
}

function costOf({ status }: UiObject): string | undefined {
  const cost = status?.costSoFar ?? status?.estimatedCost;
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
  const { etaSeconds, duration, total, succeeded = 0, failed = 0 } = status ?? {};
  const { model, voiceSetting } = spec.template?.speech ?? spec;
  const ended = total === undefined ? undefined : Math.floor((100 * (succeeded + failed)) / total);
  return {
    phase: status?.phase ?? "Pending",
    model: model ?? status?.model ?? "",
    voice: voiceSetting?.voiceID ?? "",
    results: status?.results?.length ?? 0,
    progressPercent: status?.progressPercent ?? ended,
    etaSeconds,
    duration,
  };
}
