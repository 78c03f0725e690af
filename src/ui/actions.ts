import { ANNOTATIONS, GROUP } from "../api/v1alpha1/meta.ts";
import { isPaused } from "../controllers/reconciler.ts";
import type { Resource } from "../kube/resource.ts";
import { ENDPOINT_KIND, JOB_KINDS } from "./row.ts";
import type { UiObject } from "./ui-object.ts";
import type { ActionView } from "./view-types.ts";

/** What an action sends. `value` null removes the annotation. */
export type Effect =
  | { kind: "Annotate"; annotation: string; value: string | null }
  | { kind: "PatchSpec"; spec: { suspend: boolean } }
  | { kind: "Delete" };

type Action = {
  name: string;
  label: string;
  /** The consequence that the user confirms first. */
  confirm?: string;
  available(kind: string, object: UiObject): boolean;
  /** `value`: a new value for an annotation that requests something. */
  effect(value: string): Effect;
};

const ENDED = ["Succeeded", "Failed"];

const isDeleting = ({ metadata }: UiObject) => metadata.deletionTimestamp !== undefined;
const isJob = (kind: string) => JOB_KINDS.includes(kind);
const canSuspend = (kind: string, { status }: UiObject) =>
  kind === ENDPOINT_KIND || (isJob(kind) && !ENDED.includes(status?.phase ?? ""));

const annotate = (annotation: string, value: string | null): Effect => ({ kind: "Annotate", annotation, value });
const setSuspend = (suspend: boolean): Effect => ({ kind: "PatchSpec", spec: { suspend } });

/** The actions in the order in which the page offers them. They are those of docs/how-to/operator.md and docs/runbooks. */
const ACTIONS: readonly Action[] = [
  {
    name: "resubmit",
    label: "Send again",
    confirm: "Mooring sends the request again. If the service accepted the first one, you pay twice.",
    available: (kind, object) => isJob(kind) && object.status?.phase === "Halted" && !isDeleting(object),
    effect: (value) => annotate(ANNOTATIONS.resubmitToken, value),
  },
  {
    name: "reconcile",
    label: "Reconcile now",
    available: (_, object) => !isDeleting(object) && !isPaused(object),
    effect: (value) => annotate(ANNOTATIONS.reconcileRequestedAt, value),
  },
  {
    name: "suspend",
    label: "Suspend",
    confirm:
      "An endpoint loses all its workers and serves no requests. A job waits, unless it is submitted: the service cannot stop a task.",
    available: (kind, object) => canSuspend(kind, object) && object.spec.suspend !== true && !isDeleting(object),
    effect: () => setSuspend(true),
  },
  {
    name: "resume",
    label: "Resume",
    available: (kind, object) => canSuspend(kind, object) && object.spec.suspend === true && !isDeleting(object),
    effect: () => setSuspend(false),
  },
  {
    name: "pause",
    label: "Pause reconciling",
    confirm: "Mooring neither reads nor changes anything at the service for this object until you continue it.",
    available: (_, object) => !isPaused(object) && !isDeleting(object),
    effect: () => annotate(ANNOTATIONS.paused, "true"),
  },
  {
    name: "unpause",
    label: "Continue reconciling",
    available: (_, object) => isPaused(object) && !isDeleting(object),
    effect: () => annotate(ANNOTATIONS.paused, null),
  },
  {
    name: "release",
    label: "Release the deletion",
    confirm: "The object goes without a change at the service. The remote endpoint stays, and its workers still cost.",
    available: (kind, object) => kind === ENDPOINT_KIND && isDeleting(object),
    effect: () => annotate(ANNOTATIONS.deletionPolicy, "Retain"),
  },
  {
    name: "delete",
    label: "Delete",
    confirm: "The object is deleted. What happens at the service depends on its kind and its deletion policy.",
    available: (_, object) => !isDeleting(object),
    effect: () => ({ kind: "Delete" }),
  },
];

/** What a user can do to the object, with the same as kubectl commands. */
export function actionsOf({ kind, plural }: Resource, object: UiObject): ActionView[] {
  return ACTIONS.filter((action) => action.available(kind, object)).map(({ name, label, confirm, effect }) => ({
    name,
    label,
    confirm,
    command: commandOf(`${plural}.${GROUP}`, object, effect("$(date +%s)")),
  }));
}

/** The merge patch of an effect. `uid`: another object of the same name refuses it. */
export function patchOf(effect: Exclude<Effect, { kind: "Delete" }>, uid: string): object {
  if (effect.kind === "PatchSpec") return { metadata: { uid }, spec: effect.spec };
  return { metadata: { uid, annotations: { [effect.annotation]: effect.value } } };
}

/** What the action sends; undefined: the object has no such action now. */
export function effectOf(name: string, kind: string, object: UiObject, value: string): Effect | undefined {
  return ACTIONS.find((action) => action.name === name && action.available(kind, object))?.effect(value);
}

function commandOf(resource: string, { metadata: { namespace, name } }: UiObject, effect: Effect): string {
  const where = `${resource} ${namespace === undefined ? "" : `-n ${namespace} `}${name}`;
  switch (effect.kind) {
    case "Annotate": {
      const { annotation, value } = effect;
      return `kubectl annotate ${where} ${value === null ? `${annotation}-` : `${annotation}="${value}" --overwrite`}`;
    }
    case "PatchSpec":
      return `kubectl patch ${where} --type=merge -p '${JSON.stringify({ spec: effect.spec })}'`;
    case "Delete":
      return `kubectl delete ${where}`;
  }
}
