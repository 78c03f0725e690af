import type { Account, AccountStatus, ClusterAccount } from "../../api/v1alpha1/account.ts";
import { getCondition, isTrue } from "../../api/v1alpha1/conditions.ts";
import { plainText } from "../../base/sanitizer.ts";
import type { EndpointRecord } from "../../provider/endpoints/endpoint-record.ts";
import type { EventRecorder } from "../../runtime/recorder.ts";
import type { AccountKey } from "./registry.ts";

/** How many orphans an event names. */
const NAMED = 5;
const NAME_LENGTH = 255;

/** One event for endpoints that were not reported before. Orphaned endpoints are never deleted. */
export function createOrphanEvents(recorder: EventRecorder) {
  const reported = new Map<AccountKey, ReadonlySet<string>>();

  return {
    /** `sanitize`: app names are exact in a record, because they are compared. */
    report(
      key: AccountKey,
      object: Account | ClusterAccount,
      orphans: readonly Pick<EndpointRecord, "id" | "appName">[],
      sanitize: (text: string, limit: number) => string = plainText,
    ): void {
      const before = reported.get(key);
      reported.set(key, new Set(orphans.map(({ id }) => id)));
      if (orphans.every(({ id }) => before?.has(id) === true)) return;
      const named = orphans.slice(0, NAMED).map(({ id, appName }) => `${id} (${sanitize(appName, NAME_LENGTH)})`);
      const more = orphans.length > NAMED ? ` and ${orphans.length - NAMED} more` : "";
      const note = `${orphans.length} of the account's endpoints look generated and have no GpuEndpoint: ${named.join(", ")}${more}; Mooring does not change them`;
      recorder.warning(object, "OrphanedEndpoints", "Sweep", note);
    },
    forget: (key: AccountKey) => void reported.delete(key),
  };
}

/** One event when the Secret has another key. `before`: the key in use; undefined: none was used since the start. */
export function announceKey(
  recorder: EventRecorder,
  object: Account | ClusterAccount,
  before: string | undefined,
  apiKey: string,
): void {
  if (before === undefined || before === apiKey) return;
  const { name, key } = object.spec.apiKeySecretRef;
  const note = `The key in Secret ${name} (${key}) changed: Mooring uses the new one`;
  recorder.normal(object, "KeyChanged", "Probe", note);
}

/** One event when the list of endpoints becomes unreadable. */
export function warnOfList(recorder: EventRecorder, object: Account | ClusterAccount, status: AccountStatus): void {
  const listed = getCondition(status.conditions, "EndpointsListed");
  if (listed === undefined || getCondition(object.status?.conditions, "EndpointsListed") !== undefined) return;
  recorder.warning(object, "ListUnreadable", "Sweep", listed.message);
}

/** One event when the budget becomes exceeded; the condition says the rest. */
export function warnOfBudget(recorder: EventRecorder, object: Account | ClusterAccount, status: AccountStatus): void {
  const exceeded = getCondition(status.conditions, "BudgetExceeded");
  if (exceeded?.status !== "True" || isTrue(object.status?.conditions, "BudgetExceeded")) return;
  recorder.warning(object, "BudgetExceeded", "Budget", exceeded.message);
}
