import type { Clock } from "../base/clock.ts";
import type { Operation } from "../provider/operations.ts";
import { type AccountLine, createAccountLine, type SpendingRefusal, type Wait } from "./account-line.ts";
import type { Allowance, BookReading } from "./allowance.ts";
import type { Pool } from "./division.ts";
import type { PoolUse } from "./pools.ts";
import type { EndedTask, Unbilled } from "./reservations.ts";
import type { Work } from "./work.ts";

/**
 * Decides which of an account's jobs may send their paid request now. There is one queue per account.
 *
 * # Expected flow
 * 1. A job calls `request` when it is ready to send. `Waiting` says why it waits; `wake` is called when the job has a
 *    place. A waiting job calls `request` again at least once a minute.
 * 2. With `Admitted` the job has a place. It sends its request: `began`, `sent` (the first byte leaves).
 * 3. When the job's status shows the outcome, the job calls `running`, or `release` when no task runs.
 * 4. A job that does not want to send any more (blocked, suspended, paused) calls `withdraw`.
 *
 * A request passes two steps: this admission, then the account's gate (connection and rate limit). Admission keeps the line
 * at the gate short, because polls of tasks wait there too.
 *
 * # Order
 * Namespaces take turns; within a namespace, the job that asked first goes first. While the next job has to wait, no
 * other job of the account overtakes it. In an account with shares, these get requests by weight (pools.ts), and a job that waits for a
 * limit of its share is overtaken by other namespaces.
 *
 * # Guarantees
 * - At most `maxTasks` jobs have a place. At most 16 of them wait for the rate limit, and at most 256 requests are under
 *   way.
 * - Each request reserves the cost of a task once: from its place until its charge is attributed to it, or for a time after
 *   its end, so that tasks in flight never overdraw a budget (reservations.ts). A place whose request was not sent reserves
 *   nothing after its end.
 * - A place and a position in the queue belong to a job that asks. Both lapse 150 s after the job asked last, unless its
 *   request has begun.
 *
 * # Assumptions
 * - `inFlight` and `ended` give the jobs that the statuses show; this process remembers nothing from before its start.
 */
export type SpendingAdmission = {
  /** Takes a place, or a position in the queue. `wake` is called when the job has a place: ask again then. */
  request(account: string, work: Work, wake: () => void): Admission;
  /** Gives back the position in the queue, or a place whose request has not begun. Other places stay. */
  withdraw(uid: string): void;
  /** The request of the job has begun; it waits for the rate limit. */
  began(uid: string): void;
  /** The request waits until its artifact is open, and not for the rate limit. `began` ends this. */
  opening(uid: string): void;
  /** The first byte of the request leaves. */
  sent(uid: string): void;
  /** The job's status shows a task in flight, which keeps the place even above the limit. */
  running(account: string, work: Work): void;
  /**
   * The job's status shows no task in flight: gives back a place that a task has left, because the response to the status write
   * was lost. A position in the queue and the places of requests stay.
   */
  taskEnded(uid: string): void;
  /**
   * Gives back the job's place or position. `charged`: its request can have cost something. `unseen`: its task may still
   * run, and nobody observes it.
   */
  release(uid: string, end: { charged: boolean; unseen?: boolean }): void;
  /** Why the budget, or the money of the namespace's share, holds back a request that gives an endpoint workers. */
  exhausted(account: string, namespace: string): SpendingRefusal | undefined;
  /** The service refused a paid request because the balance is empty: the account's paid work waits (balance-hold.ts). */
  unpaid(account: string, message: string): void;
  /** The service accepted a paid request: the balance is not empty. */
  paid(account: string): void;
  /** Why the account's paid work waits for its balance; undefined: it does not. */
  balance(account: string): string | undefined;
  /**
   * Such a request begins: it reserves `budget.reservePerTask`, if that is set, until a charge shows. Call the result
   * when the request had no effect.
   */
  spend(account: string, operation: Operation): () => void;
  /** The ended tasks that reserve their cost, for a process that continues. undefined: no task has ended since the start. */
  unbilled(account: string): Unbilled | undefined;
  /** The account's bills or budgets were read. `readings`: the last read of every book that the budget counts. */
  moneyRead(account: string, readings: readonly BookReading[]): void;
  /** The account's allowance may have changed: admits jobs, and wakes waiting ones to show a new reason. */
  recheck(account: string): void;
  /** How soon another read of the bills helps: tasks have ended since the last one, or jobs wait for the budget. */
  urgency(account: string): "Settling" | "Waiting" | "None";
  /** How many jobs wait. */
  waiting(account: string): number;
  /** What the jobs of a share use. */
  use(account: string, pool: Pool): PoolUse;
  /** This process does not serve the account any more, and has no request under way for it. */
  forget(account: string): void;
  /** Ends admission: no job is admitted any more. */
  stop(): void;
};

export type Admission = { kind: "Admitted" } | ({ kind: "Waiting" } & Wait);

export type SpendingAdmissionOptions = {
  clock: Clock;
  allowance: (account: string) => Allowance;
  /** Jobs of the account that the statuses show in flight. Called once per account. */
  inFlight: (account: string) => (Work & { isUnderWay?: boolean })[];
  /** The tasks of the account that ended before this process and whose charge may not show. Called once per account. */
  ended?: (account: string) => EndedTask[];
  /** `balance` changed. */
  onBalance?: (account: string) => void;
};

export function createSpendingAdmission({
  clock,
  allowance,
  ...statuses
}: SpendingAdmissionOptions): SpendingAdmission {
  const lines = new Map<string, AccountLine>();
  let stopped = false;

  function lineOf(account: string): AccountLine {
    const known = lines.get(account);
    if (known !== undefined) return known;
    const line = createAccountLine({
      clock,
      allowance: () => allowance(account),
      stopped: () => stopped,
      ended: statuses.ended?.(account) ?? [],
      onBalance: () => statuses.onBalance?.(account),
    });
    lines.set(account, line);
    for (const { isUnderWay = false, ...work } of statuses.inFlight(account)) {
      if (isUnderWay) line.underWay(work);
      else line.running(work);
    }
    return line;
  }

  function lineWith(uid: string): AccountLine | undefined {
    for (const line of lines.values()) if (line.has(uid)) return line;
    return undefined;
  }

  /** The line of the job's account. Releases a place or position at another account. */
  function lineFor(account: string, uid: string): AccountLine {
    const line = lineOf(account);
    const former = lineWith(uid);
    if (former !== line) {
      former?.withdraw(uid);
      former?.release(uid, "Seen");
    }
    return line;
  }

  return {
    request(account, work, wake) {
      const wait = lineFor(account, work.uid).request(work, wake);
      return wait === undefined ? { kind: "Admitted" } : { kind: "Waiting", ...wait };
    },
    withdraw: (uid) => lineWith(uid)?.withdraw(uid),
    began: (uid) => lineWith(uid)?.advance(uid, "Unsent"),
    opening: (uid) => lineWith(uid)?.advance(uid, "Opening"),
    sent: (uid) => lineWith(uid)?.advance(uid, "Sent"),
    running: (account, work) => lineFor(account, work.uid).running(work),
    taskEnded: (uid) => lineWith(uid)?.taskEnded(uid),
    release: (uid, { charged, unseen = false }) =>
      lineWith(uid)?.release(uid, charged ? (unseen ? "Unseen" : "Seen") : undefined),
    unpaid: (account, message) => lineOf(account).balance.refused(message),
    paid: (account) => lines.get(account)?.balance.accepted(),
    balance: (account) => lines.get(account)?.balance.reason(),
    exhausted: (account, namespace) => lineOf(account).exhausted(namespace),
    spend: (account, operation) => lineOf(account).spend(operation),
    unbilled: (account) => lines.get(account)?.unbilled(),
    moneyRead: (account, readings) => lineOf(account).moneyRead(readings),
    recheck: (account) => lines.get(account)?.recheck(),
    urgency: (account) => lineOf(account).urgency(),
    waiting: (account) => lineOf(account).waiting(),
    use: (account, pool) => lineOf(account).use(pool),
    forget(account) {
      lines.get(account)?.end();
      lines.delete(account);
    },
    stop() {
      stopped = true;
    },
  };
}
