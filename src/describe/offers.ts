import { COMMANDS, type CommandTarget } from "../api/v1alpha1/commands.ts";
import type { Reason } from "../api/v1alpha1/reasons.ts";
import type { Condition } from "../kube/types.ts";
import type { AnyObject } from "./object-state.ts";

type Offer = { target: CommandTarget; object: AnyObject };
/** Commands that are offered while `when` holds. */
type OfferRule = { when(offer: Offer): boolean; commands(offer: Offer): string[] };

/**
 * The commands that help an object in its state, from the reasons of its conditions, its kind, its name and what it is bound to,
 * never from a message: messages quote the service.
 */
export function offersOf(kind: string, object: AnyObject): string[] {
  const { namespace, name } = object.metadata;
  const offer = { target: { kind, namespace, name }, object };
  return [...new Set(RULES.filter(({ when }) => when(offer)).flatMap(({ commands }) => commands(offer)))];
}

const RULES: readonly OfferRule[] = [
  {
    when: ({ object }) =>
      object.status?.phase === "Halted" && has(object, ["SubmissionUnknown", "ResponseUnusable"], "Stalled"),
    commands: ({ target, object }) => [
      COMMANDS.resolve(target),
      ...(makesTask(object) ? [COMMANDS.attachTask(target)] : []),
      COMMANDS.resubmit(target),
      COMMANDS.remove(target),
    ],
  },
  {
    when: ({ object }) => (object.status?.halted ?? 0) > 0,
    commands: ({ target }) => [COMMANDS.resolve(target)],
  },
  {
    when: ({ object }) => has(object, ["TaskNotFound", "PollsFailing"], "Stalled"),
    commands: ({ target }) => [COMMANDS.remove(target)],
  },
  {
    when: ({ object }) => has(object, ["AccountMismatch"]),
    commands: ({ target, object }) => {
      const { kind, name, baseURL } = object.status?.account ?? {};
      if (kind === undefined || name === undefined || baseURL === undefined) return [];
      const namespace = kind === "Account" ? target.namespace : undefined;
      return [COMMANDS.restoreBaseURL({ kind, namespace, name }, baseURL)];
    },
  },
  {
    when: ({ target, object }) => target.namespace !== undefined && has(object, ["AccountNotFound"]),
    commands: ({ target: { namespace = "" } }) => [COMMANDS.listAccounts(namespace)],
  },
  {
    when: ({ object }) => has(object, ["ServedByAnotherInstallation"], "Contested"),
    commands: ({ target }) => [COMMANDS.releaseAccount(target)],
  },
  {
    when: ({ target, object }) =>
      target.kind === "GpuEndpoint" &&
      !isDeleting(object) &&
      has(object, ["RemoteMissing"], "Stalled") &&
      mayCreate(object),
    commands: ({ target }) => [COMMANDS.reconcile(target)],
  },
  {
    when: ({ target, object }) => target.kind === "GpuEndpoint" && isDeleting(object),
    commands: ({ target }) => [COMMANDS.retain(target)],
  },
];

/** Whether a condition that is wrong has one of the reasons. `type`: only this one, while it is True. */
function has({ status }: AnyObject, reasons: readonly Reason[], type?: string): boolean {
  const fits = (condition: Condition) =>
    type === undefined ? condition.status === "False" || condition.type === "Stalled" : condition.type === type;
  return (status?.conditions ?? []).some(
    (condition) => fits(condition) && reasons.some((reason) => reason === condition.reason),
  );
}

const isDeleting = ({ metadata }: AnyObject) => metadata.deletionTimestamp !== undefined;

/** Whether the request of a job makes a task that it can be attached to: that of the synchronous model does not. */
export function makesTask({ spec }: Pick<AnyObject, "spec">): boolean {
  return fieldOf(spec, "model") !== "speech-2.6-turbo";
}

/** A reconcile request releases a create only of an endpoint that Mooring creates. */
function mayCreate({ spec }: AnyObject): boolean {
  return fieldOf(spec, "managementPolicy") !== "Observe" && fieldOf(spec, "adoption") === undefined;
}

function fieldOf(spec: unknown, name: string): unknown {
  return typeof spec === "object" && spec !== null
    ? Object.entries(spec).find(([key]) => key === name)?.[1]
    : undefined;
}
