import type { Condition } from "../../kube/types.ts";
import type { Reason } from "./reasons.ts";

/** The condition types of all kinds. */
export const CONDITIONS = {
  /** Every kind: the object is as its spec says (an endpoint serves, a job is complete, an account can be used). */
  Ready: "Ready",
  /** Every kind, present only while True: work is under way (kstatus: in progress). */
  Reconciling: "Reconciling",
  /** Every kind, present only while True: a person must act (kstatus: failed). */
  Stalled: "Stalled",
  /** GpuEndpoint: the remote equals the spec. */
  Synced: "Synced",
  /** GpuEndpoint: suspended, and no worker runs. */
  Stopped: "Stopped",
  /** Jobs: waiting, because of `spec.suspend`. */
  Suspended: "Suspended",
  /** Jobs: finished well. */
  Complete: "Complete",
  /** Jobs: finished badly; comes with Stalled=True and Ready=False. */
  Failed: "Failed",
  /** Jobs: the results can be fetched, from their URLs or from the store. */
  ResultsAvailable: "ResultsAvailable",
  /** Accounts: the service takes the key. */
  Authenticated: "Authenticated",
  /** Accounts: the service answers. */
  Reachable: "Reachable",
  /** Accounts: less is left than `spec.budget` asks for. */
  BudgetExceeded: "BudgetExceeded",
  /** BillReport: the bills are written where the spec wants them. */
  Exported: "Exported",
} as const;
export type ConditionType = keyof typeof CONDITIONS;

export type ConditionUpdate = {
  type: ConditionType;
  status: Condition["status"];
  reason: Reason;
  message: string;
  observedGeneration?: number | undefined;
};

/** Characters of a message that are kept. */
export const MESSAGE_LIMIT = 1024;

type Conditions = readonly Condition[] | undefined;

/**
 * The conditions with one set. Pure; `now` is RFC 3339. Guarantees, whatever the order of calls:
 * - `lastTransitionTime` moves only when `status` moves.
 * - Reconciling and Stalled are present only while True, and never both: setting one removes the other, setting it to anything but True
 *   removes it.
 * - Stalled comes with Ready=False, of the same reason and message: setting Ready to anything but False removes Stalled.
 */
export function setCondition(conditions: Conditions, update: ConditionUpdate, now: string): Condition[] {
  const { type, status } = update;
  if (type === "Reconciling" || type === "Stalled") {
    if (status !== "True") return removeCondition(conditions, type);
    const other = removeCondition(conditions, type === "Stalled" ? "Reconciling" : "Stalled");
    const own = put(other, update, now);
    return type === "Stalled" ? put(own, { ...update, type: "Ready", status: "False" }, now) : own;
  }
  const rest = type === "Ready" && status !== "False" ? removeCondition(conditions, "Stalled") : conditions;
  return put(rest, update, now);
}

/** Several conditions, set in order. */
export function setConditions(conditions: Conditions, updates: readonly ConditionUpdate[], now: string): Condition[] {
  return updates.reduce<Condition[]>((result, update) => setCondition(result, update, now), [...(conditions ?? [])]);
}

export function removeCondition(conditions: Conditions, type: ConditionType): Condition[] {
  return (conditions ?? []).filter((condition) => condition.type !== type);
}

export function getCondition(conditions: Conditions, type: ConditionType): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

export function isTrue(conditions: Conditions, type: ConditionType): boolean {
  return getCondition(conditions, type)?.status === "True";
}

function put(conditions: Conditions, update: ConditionUpdate, now: string): Condition[] {
  const list = conditions ?? [];
  const present = getCondition(list, update.type);
  const wanted: Condition = {
    type: update.type,
    status: update.status,
    reason: update.reason,
    message: cut(update.message, MESSAGE_LIMIT),
    lastTransitionTime: present?.status === update.status ? present.lastTransitionTime : now,
    ...(update.observedGeneration === undefined ? {} : { observedGeneration: update.observedGeneration }),
  };
  return present === undefined ? [...list, wanted] : list.map((one) => (one === present ? wanted : one));
}

/** At most `limit` characters, the last one an ellipsis when something was left off. */
export function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const characters = Array.from(text);
  return characters.length <= limit ? text : `${characters.slice(0, limit - 1).join("")}…`;
}
