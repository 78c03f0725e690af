import { cutTo, plainText } from "../../base/sanitizer.ts";
import type { Condition } from "../../kube/types.ts";
import type { Reason } from "./reasons.ts";

/** The condition types: for which kinds, and what they mean while True. docs/reference/conditions.md shows them. */
export const CONDITIONS = {
  Ready:
    "Every kind: the object does what its spec asks for (an endpoint serves or is suspended, a job is complete, an account can be used).",
  Reconciling: "Every kind, present only while True: work is in progress (kstatus: InProgress).",
  Stalled: "Every kind, present only while True: the user must act, or the job failed (kstatus: Failed).",
  Synced: "GpuEndpoint: the remote endpoint matches the spec.",
  Stopped: "GpuEndpoint: suspended, and no worker runs.",
  Suspended: "Jobs and batches: waits because of `spec.suspend`.",
  Complete: "Jobs and batches: succeeded.",
  Failed: "Jobs and batches: failed. Comes with Stalled=True and Ready=False.",
  ResultsAvailable: "Jobs: the results can be fetched, from their URLs or from the store.",
  TaskAttached:
    "Jobs, present only while the annotation mooring.dev/attach-task applies: the job follows the task that the annotation names.",
  Authenticated: "Accounts: the service accepts the key.",
  Reachable: "Accounts: the service responds.",
  EndpointsListed: "Accounts, present only while False: the list of endpoints can be read.",
  BudgetExceeded: "Accounts: the budget of `spec.budget` is exceeded.",
  SharesValid:
    "ClusterAccounts with `spec.shares`: each share selects a namespace, none overlaps, and their limits fit into the account's. False is a warning: the shares apply.",
  Contested:
    "Accounts: a second installation of Mooring serves the account, and sends nothing for it. Removed 10 minutes after it ends.",
  Exported: "BillReport: the bills are written to the destination in the spec.",
} satisfies Record<string, string>;
export type ConditionType = keyof typeof CONDITIONS;

export type ConditionUpdate = {
  type: ConditionType;
  status: Condition["status"];
  reason: Reason;
  message: string;
  observedGeneration?: number | undefined;
};

/** Longest message, in characters. */
export const MESSAGE_LIMIT = 1024;

type Conditions = readonly Condition[] | undefined;

/**
 * The conditions with one condition set. Pure; `now` is RFC 3339. Guarantees, in any order of calls:
 * - `lastTransitionTime` moves only when `status` is not that of `before`: by default, of `conditions`.
 * - Reconciling and Stalled are present only while True, and never both: setting one removes the other, setting it to anything but True
 *   removes it.
 * - Stalled comes with Ready=False, with the same reason and message. Setting Ready to anything but False removes Stalled.
 */
export function setCondition(
  conditions: Conditions,
  update: ConditionUpdate,
  now: string,
  before = conditions,
): Condition[] {
  const { type, status } = update;
  if (type === "Reconciling" || type === "Stalled") {
    if (status !== "True") return removeCondition(conditions, type);
    const other = removeCondition(conditions, type === "Stalled" ? "Reconciling" : "Stalled");
    const own = put(other, update, now, before);
    return type === "Stalled" ? put(own, { ...update, type: "Ready", status: "False" }, now, before) : own;
  }
  const rest = type === "Ready" && status !== "False" ? removeCondition(conditions, "Stalled") : conditions;
  return put(rest, update, now, before);
}

/** Sets several conditions, in order. What only an earlier update sets moves no time. */
export function setConditions(conditions: Conditions, updates: readonly ConditionUpdate[], now: string): Condition[] {
  const start = [...(conditions ?? [])];
  return updates.reduce<Condition[]>((result, update) => setCondition(result, update, now, start), start);
}

export function removeCondition(conditions: Conditions, type: ConditionType): Condition[] {
  return (conditions ?? []).filter((condition) => condition.type !== type);
}

export function getCondition(conditions: Conditions, type: ConditionType): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** Nothing continues before a user acts. A job that failed is over and needs nobody. */
export function needsUser(status: { conditions?: Conditions; phase?: unknown } | undefined): boolean {
  return isTrue(status?.conditions, "Stalled") && status?.phase !== "Failed";
}

export function isTrue(conditions: Conditions, type: ConditionType): boolean {
  return getCondition(conditions, type)?.status === "True";
}

function put(conditions: Conditions, update: ConditionUpdate, now: string, before: Conditions): Condition[] {
  const list = conditions ?? [];
  const present = getCondition(list, update.type);
  const last = getCondition(before, update.type);
  const wanted: Condition = {
    type: update.type,
    status: update.status,
    reason: update.reason,
    message: plainText(update.message, MESSAGE_LIMIT),
    lastTransitionTime: last?.status === update.status ? last.lastTransitionTime : now,
    ...(update.observedGeneration === undefined ? {} : { observedGeneration: update.observedGeneration }),
  };
  return present === undefined ? [...list, wanted] : list.map((one) => (one === present ? wanted : one));
}

/** At most `limit` characters. The last one is an ellipsis when the text was longer. */
export function cut(text: string, limit: number): string {
  return cutTo(text, limit);
}
