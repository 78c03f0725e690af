import type { AuditEntry, World } from "../../support/world.ts";

/** What the operators have asked the service, by the audit log of the service. Times in ms since the epoch. */
export type Trail = {
  /** Reads what the service has logged since the last call. */
  read(): Promise<void>;
  /** The first poll of the task at or after `from` that showed its state. */
  shownAt(taskID: string, from: number): number | undefined;
  /** The last poll of the task, whether or not it showed its state. */
  polledAt(taskID: string): number | undefined;
  /** When the operator may poll at all: after failures in a row it pauses (breaker.ts). */
  pausedUntil(): number;
  /** The longest pause between two polls of one task, for the report. */
  longestPauseMs(): number;
};

type Poll = { at: number; shown: boolean };

/** So many polls in a row that fail, of any task, open the circuit breaker. */
const FAILURES = 5;
/** Its longest pause for polls, with jitter. */
const PAUSE_MS = 12_000;

export function createTrail(world: World): Trail {
  const polls = new Map<string, Poll[]>();
  let last = 0;
  let failures = 0;
  let pausedUntil = 0;
  const of = (taskID: string) => polls.get(taskID) ?? [];
  return {
    async read() {
      const entries = (await world.control("GET", `/__audit?since=${last}`)) as AuditEntry[];
      for (const { seq, operation, time, query, status, fault } of entries) {
        last = seq;
        const taskID = query?.["task_id"];
        if (operation !== "getTaskResult" || taskID === undefined) continue;
        const poll = { at: Date.parse(time), shown: status === 200 && fault === undefined };
        polls.set(taskID, [...of(taskID), poll]);
        failures = poll.shown ? 0 : failures + 1;
        if (failures >= FAILURES) pausedUntil = poll.at + PAUSE_MS;
      }
    },
    shownAt: (taskID, from) => of(taskID).find(({ at, shown }) => shown && at >= from)?.at,
    polledAt: (taskID) => of(taskID).at(-1)?.at,
    pausedUntil: () => pausedUntil,
    longestPauseMs: () =>
      Math.max(0, ...[...polls.values()].flatMap((all) => all.slice(1).map(({ at }, i) => at - (all[i]?.at ?? at)))),
  };
}
