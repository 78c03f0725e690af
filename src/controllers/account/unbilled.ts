import { parseDuration } from "../../api/schema/duration.ts";
import type { Account, AccountStatus, ClusterAccount } from "../../api/v1alpha1/account.ts";
import { rfc3339 } from "../../base/clock.ts";
import { OPERATION_NAMES } from "../../provider/operations.ts";
import type { EndedTask, Unbilled } from "../../submission/reservations.ts";
import type { EndedSince } from "../jobs/tasks.ts";

type ShownUnbilled = NonNullable<NonNullable<AccountStatus["tasks"]>["unbilled"]>;

/** Most tasks of an operation that the status can show. */
const MOST_TASKS = 100_000;
/** Without a record in the status, only tasks that ended this lately are taken from the jobs. */
const WITHOUT_RECORD_MS = 15 * 60_000;

/** `status.tasks.unbilled`: it outlives the process and the jobs. */
export function shownUnbilled({ asOf, tasks }: Unbilled): ShownUnbilled {
  const shown = tasks.map(({ operation, count, lastEnd }) => ({
    operation,
    count: Math.min(count, MOST_TASKS),
    lastEnd: rfc3339(lastEnd),
  }));
  return { asOf: rfc3339(asOf), ...(shown.length === 0 ? {} : { tasks: shown }) };
}

/** The tasks of an account that ended before this process: those of its status, and of the jobs that ended later. */
export function restoredTasks(
  { spec, status }: Pick<Account | ClusterAccount, "spec" | "status">,
  ofJobs: (since: EndedSince) => EndedTask[],
  now: number,
): EndedTask[] {
  if (spec.budget?.action !== "HoldNew") return [];
  const { asOf, tasks = [] } = status?.tasks?.unbilled ?? {};
  const ofStatus = tasks.flatMap(({ operation: name, count, lastEnd }): EndedTask[] => {
    const operation = OPERATION_NAMES.find((one) => one === name);
    if (operation === undefined) return [];
    const agoMs = Math.max(0, now - Date.parse(lastEnd));
    return Array.from({ length: count }, () => ({ operation, end: "Seen", agoMs, lenient: true }));
  });
  const since = asOf === undefined ? now - WITHOUT_RECORD_MS : Date.parse(asOf);
  return [...ofStatus, ...ofJobs({ now, settleMs: parseDuration(spec.billing.settleTime), asOf: since })];
}
