import type { AuditEntry, World } from "../../support/world.ts";

/** What the operators have asked the service, by the audit log of the service. Times in ms since the epoch. */
export type Trail = {
  /** Reads what the service has logged since the last call. */
  read(): Promise<void>;
  /** The first poll of the task at or after `from` that showed its state. */
  shownAt(taskID: string, from: number): number | undefined;
  /** The last poll of the task, whether or not it showed its state. */
  polledAt(taskID: string): number | undefined;
  /** The longest pause between two polls of one task, for the report. */
  longestPauseMs(): number;
};

type Poll = { at: number; shown: boolean };

export function createTrail(world: World): Trail {
  const polls = new Map<string, Poll[]>();
  let last = 0;
  const of = (taskID: string) => polls.get(taskID) ?? [];
  return {
    async read() {
      const entries = (await world.control("GET", `/__audit?since=${last}`)) as AuditEntry[];
      for (const { seq, operation, time, query, status, fault } of entries) {
        last = seq;
        const taskID = query?.["task_id"];
        if (operation !== "getTaskResult" || taskID === undefined) continue;
        polls.set(taskID, [...of(taskID), { at: Date.parse(time), shown: status === 200 && fault === undefined }]);
      }
    },
    shownAt: (taskID, from) => of(taskID).find(({ at, shown }) => shown && at >= from)?.at,
    polledAt: (taskID) => of(taskID).at(-1)?.at,
    longestPauseMs: () =>
      Math.max(0, ...[...polls.values()].flatMap((all) => all.slice(1).map(({ at }, i) => at - (all[i]?.at ?? at)))),
  };
}
