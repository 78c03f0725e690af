import { ANNOTATIONS, GROUP } from "../api/v1alpha1/meta.ts";
import { isPaused } from "../controllers/reconciler.ts";
import { makesTask } from "../describe/offers.ts";
import type { Resource } from "../kube/resource.ts";
import { consequenceOf } from "./consequences.ts";
import { BATCH_KIND, ENDPOINT_KIND, JOB_KINDS } from "./row.ts";
import type { UiObject } from "./ui-object.ts";
import type { ActionView } from "./view-types.ts";

/** What an action sends. A value null removes the annotation. `exact`: only while nobody else has changed the object. */
export type Effect =
  | { kind: "Annotate"; annotations: Readonly<Record<string, string | null>>; exact?: boolean }
  | { kind: "PatchSpec"; spec: { suspend: boolean } }
  | { kind: "Delete" };

/** `now`: a new value for an annotation that requests something. `input`: what the user typed. */
type EffectValues = { now: string; input: string };

type Action = {
  name: string;
  label: string | ((kind: string, object: UiObject) => string);
  /** What the user types; the action needs it. */
  input?: string;
  danger?: boolean;
  available(kind: string, object: UiObject): boolean;
  /** Whether it is the one that helps in the object's state. */
  primary?(kind: string, object: UiObject): boolean;
  effect(values: EffectValues, object: UiObject): Effect;
};

/** Phases in which the request of a job is not sent yet. Later, the service cannot stop its task. */
const UNSENT = ["", "Pending", "Halted"];

const isDeleting = ({ metadata }: UiObject) => metadata.deletionTimestamp !== undefined;
const isHalted = (kind: string, object: UiObject) =>
  JOB_KINDS.includes(kind) && object.status?.phase === "Halted" && !isDeleting(object);
const hasEnded = (phase: string | undefined) => phase === "Succeeded" || phase === "Failed";
const canSuspend = (kind: string, { status }: UiObject) =>
  kind === ENDPOINT_KIND ||
  (kind === BATCH_KIND && !hasEnded(status?.phase)) ||
  (JOB_KINDS.includes(kind) && UNSENT.includes(status?.phase ?? ""));

const annotate = (annotation: string, value: string | null): Effect => ({
  kind: "Annotate",
  annotations: { [annotation]: value },
});
const setSuspend = (suspend: boolean): Effect => ({ kind: "PatchSpec", spec: { suspend } });

/** The actions in the order in which the page offers them. They are those of docs/how-to/ui.md. */
const ACTIONS: readonly Action[] = [
  {
    name: "attach",
    label: "The bill shows it: attach the task",
    input: "ID of the task in the service's records",
    available: (kind, object) => isHalted(kind, object) && makesTask(object),
    primary: () => true,
    effect: ({ now, input }) => ({
      kind: "Annotate",
      annotations: { [ANNOTATIONS.attachTask]: input, [ANNOTATIONS.reconcileRequestedAt]: now },
      exact: true,
    }),
  },
  {
    name: "resubmit",
    label: "The bill does not show it: send again",
    available: isHalted,
    primary: (_, object) => !makesTask(object),
    // A task that is to be attached would hold the release back.
    effect: ({ now }, object) => ({
      kind: "Annotate",
      annotations: {
        ...(object.metadata.annotations?.[ANNOTATIONS.attachTask] === undefined
          ? {}
          : { [ANNOTATIONS.attachTask]: null }),
        [ANNOTATIONS.resubmitToken]: now,
      },
      exact: true,
    }),
  },
  {
    name: "resume",
    label: "Resume",
    available: (kind, object) => canSuspend(kind, object) && object.spec.suspend === true && !isDeleting(object),
    primary: () => true,
    effect: () => setSuspend(false),
  },
  {
    name: "unpause",
    label: "Continue reconciling",
    available: (_, object) => isPaused(object) && !isDeleting(object),
    primary: () => true,
    effect: () => annotate(ANNOTATIONS.paused, null),
  },
  {
    name: "release",
    label: "Release the deletion",
    danger: true,
    available: (kind, object) => kind === ENDPOINT_KIND && isDeleting(object),
    primary: () => true,
    effect: () => annotate(ANNOTATIONS.deletionPolicy, "Retain"),
  },
  {
    name: "reconcile",
    label: "Reconcile now",
    available: (_, object) => !isDeleting(object) && !isPaused(object),
    effect: ({ now }) => annotate(ANNOTATIONS.reconcileRequestedAt, now),
  },
  {
    name: "suspend",
    label: "Suspend",
    available: (kind, object) => canSuspend(kind, object) && object.spec.suspend !== true && !isDeleting(object),
    effect: () => setSuspend(true),
  },
  {
    name: "pause",
    label: "Pause reconciling",
    available: (_, object) => !isPaused(object) && !isDeleting(object),
    effect: () => annotate(ANNOTATIONS.paused, "true"),
  },
  {
    name: "delete",
    label: (kind, object) => (isHalted(kind, object) ? "Give up: delete the job" : "Delete"),
    danger: true,
    available: (_, object) => !isDeleting(object),
    effect: () => ({ kind: "Delete" }),
  },
];

/** What a user can do to the object, with the same as kubectl commands. */
export function actionsOf({ kind, plural }: Resource, object: UiObject): ActionView[] {
  return ACTIONS.filter((action) => action.available(kind, object)).map((action) => {
    const { name, label, input, danger = false, primary, effect } = action;
    return {
      name,
      label: typeof label === "string" ? label : label(kind, object),
      input,
      danger,
      primary: primary?.(kind, object) ?? false,
      confirm: consequenceOf(name, kind, object),
      command: commandOf(`${plural}.${GROUP}`, object, effect({ now: "$(date +%s)", input: "TASK_ID" }, object)),
    };
  });
}

/** The merge patch of an effect. Another object of the same name refuses it, and with `exact` the same one after a change. */
export function patchOf(
  effect: Exclude<Effect, { kind: "Delete" }>,
  { uid, resourceVersion }: UiObject["metadata"],
): object {
  if (effect.kind === "PatchSpec") return { metadata: { uid }, spec: effect.spec };
  const { annotations, exact = false } = effect;
  return { metadata: { uid, ...(exact ? { resourceVersion } : {}), annotations } };
}

/** What the action sends; undefined: the object has no such action now, or it lacks what the user has to type. */
export function effectOf(name: string, kind: string, object: UiObject, values: EffectValues): Effect | undefined {
  const action = ACTIONS.find((one) => one.name === name && one.available(kind, object));
  return action?.input !== undefined && values.input.trim() === "" ? undefined : action?.effect(values, object);
}

function commandOf(resource: string, { metadata: { namespace, name } }: UiObject, effect: Effect): string {
  const where = `${resource} ${namespace === undefined ? "" : `-n ${namespace} `}${name}`;
  switch (effect.kind) {
    case "Annotate": {
      const all = Object.entries(effect.annotations);
      const set = all.map(([annotation, value]) => (value === null ? `${annotation}-` : `${annotation}="${value}"`));
      return `kubectl annotate ${where} ${set.join(" ")}${all.some(([, value]) => value !== null) ? " --overwrite" : ""}`;
    }
    case "PatchSpec":
      return `kubectl patch ${where} --type=merge -p '${JSON.stringify({ spec: effect.spec })}'`;
    case "Delete":
      return `kubectl delete ${where}`;
  }
}
