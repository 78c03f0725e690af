import type { Clock } from "../../clock.ts";
import { formatYuan, type Money } from "../../money.ts";
import type { Operation } from "../../service/operations.ts";
import type { BudgetState } from "./budget.ts";
import type { AccountKey } from "./registry.ts";

/** A job that makes one paid request, by its UID. */
export type Work = { uid: string; operation: Operation };

/** What an account allows now. */
export type Allowance = {
  /** Tasks in flight at most; undefined: any number. */
  maxTasks: number | undefined;
  /** Only where new paid work has to wait for it (`budget.action: HoldNew`). */
  budget: BudgetState | undefined;
  /** What a task is counted with until its cost shows, `budget.reservePerTask`. */
  reserve: Money | undefined;
};

export type Refusal = { reason: "ConcurrencyLimited" | "BudgetExceeded"; message: string };

/**
 * Who of an account's jobs may be paid for now, the one that asked first going first. A job takes a place before its
 * request and gives it back when its task has ended. Under a budget each place reserves what the task may cost, until
 * the account's money has been read after its end: so a budget is never overdrawn by what is in flight. What a task
 * costs is what the spec says, or the most that one was seen to cost; until one was seen, they go one at a time.
 */
export type PaidWork = {
  /** Takes a place, or says why not; `wake` is called when it is worth asking again. */
  admit(account: AccountKey, work: Work): Refusal | undefined;
  /** It runs, as its status says (after a restart nothing else remembers it). */
  running(account: AccountKey, work: Work): void;
  /** Its task has ended, or it does not want to be sent any more. `charged`: it may have cost something. */
  ended(account: AccountKey, uid: string, charged: boolean): void;
  /**
   * The account's money was read: `used` is what it has cost in all, undefined when only part of it is known; `startedAt`
   * (monotonic ms) when the reading began.
   */
  moneyRead(account: AccountKey, used: Money | undefined, startedAt: number): void;
  /** Tasks that ended since the money was last read: reading it again would tell something. */
  unsettled(account: AccountKey): boolean;
  /** Jobs that are waiting for a place. */
  waiting(account: AccountKey): number;
};

export type PaidWorkOptions = {
  clock: Clock;
  allowance: (account: AccountKey) => Allowance;
  /** What the statuses of its jobs say is in flight; asked once an account. */
  inFlight: (account: AccountKey) => Work[];
  /** These may go now. */
  wake: (uids: readonly string[]) => void;
};

/** A charge that has not shown by then is not expected any more. */
const CHARGE_SHOWS_MS = 60_000;
/** Who waits asks again each minute; who does not has gone. */
const WAITER_GONE_MS = 150_000;
const WAKE_AT_ONCE = 64;

type Line = {
  /** UIDs of those in flight. */
  places: Map<string, Operation>;
  /** Those that have ended, and whose cost has not shown yet. */
  settling: { operation: Operation; endedAt: number }[];
  /** In order of arrival: when it last asked (monotonic ms). */
  waiters: Map<string, number>;
  costs: Map<Operation, Money>;
  used: Money | undefined;
};

export function createPaidWork({ clock, allowance, inFlight, wake }: PaidWorkOptions): PaidWork {
  const lines = new Map<AccountKey, Line>();

  function lineOf(account: AccountKey): Line {
    const known = lines.get(account);
    if (known !== undefined) return known;
    const places = new Map(inFlight(account).map(({ uid, operation }) => [uid, operation]));
    const line: Line = { places, settling: [], waiters: new Map(), costs: new Map(), used: undefined };
    lines.set(account, line);
    return line;
  }

  /** How many that asked before still wait. */
  function ahead({ waiters }: Line, uid: string): number {
    const now = clock.monotonic();
    let count = 0;
    for (const [waiter, askedAt] of waiters) {
      if (waiter === uid) break;
      if (now - askedAt > WAITER_GONE_MS) waiters.delete(waiter);
      else count++;
    }
    return count;
  }

  function refusal(line: Line, { uid, operation }: Work, { maxTasks, budget, reserve }: Allowance) {
    const before = ahead(line, uid);
    const busy = line.places.size;
    if (maxTasks !== undefined && busy + before >= maxTasks) {
      const message = `The account has ${busy} tasks in flight and allows ${maxTasks} (maxConcurrentTasks)`;
      return { reason: "ConcurrencyLimited" as const, message };
    }
    if (budget === undefined || budget.kind === "Unlimited") return undefined;
    const exceeded = (message: string) => ({ reason: "BudgetExceeded" as const, message });
    if (budget.kind === "Unknown" || budget.headroom <= 0n) return exceeded(budget.message);
    const costOf = (of: Operation) => reserve ?? line.costs.get(of);
    const own = costOf(operation);
    const unseen = [...line.places.values(), ...line.settling.map((one) => one.operation)];
    const costs = unseen.map(costOf);
    if (own === undefined || costs.includes(undefined)) {
      if (costs.length + before === 0) return undefined;
      return exceeded(
        "Waits for the end of another task: what a task costs is not known yet (budget.reservePerTask says it)",
      );
    }
    const reserved = costs.reduce<Money>((sum, cost) => sum + (cost ?? 0n), 0n);
    if (reserved + own * BigInt(before + 1) <= budget.headroom) return undefined;
    return exceeded(
      `${budget.message}; ${unseen.length} tasks whose cost has not shown yet reserve ${formatYuan(reserved)} and this one would need ${formatYuan(own)}`,
    );
  }

  function wakeSome(line: Line): void {
    const next = [...line.waiters.keys()].slice(0, WAKE_AT_ONCE);
    if (next.length > 0) wake(next);
  }

  return {
    admit(account, work) {
      const line = lineOf(account);
      if (line.places.has(work.uid)) return undefined;
      const refused = refusal(line, work, allowance(account));
      if (refused !== undefined) {
        line.waiters.set(work.uid, clock.monotonic());
        return refused;
      }
      line.waiters.delete(work.uid);
      line.places.set(work.uid, work.operation);
      return undefined;
    },
    running(account, { uid, operation }) {
      lineOf(account).places.set(uid, operation);
    },
    ended(account, uid, charged) {
      const line = lineOf(account);
      const operation = line.places.get(uid);
      const waited = line.waiters.delete(uid);
      if (operation === undefined && !waited) return;
      line.places.delete(uid);
      if (operation !== undefined && charged && allowance(account).budget?.kind === "Limited") {
        line.settling.push({ operation, endedAt: clock.monotonic() });
      }
      wakeSome(line);
    },
    moneyRead(account, used, startedAt) {
      const line = lineOf(account);
      const settled = line.settling.filter(({ endedAt }) => endedAt < startedAt);
      const rise = used === undefined || line.used === undefined ? undefined : used - line.used;
      const shown = rise !== undefined && rise > 0n;
      const operations = new Set(settled.map((one) => one.operation));
      const [operation] = operations;
      if (shown && operation !== undefined && operations.size === 1) {
        const count = BigInt(settled.length);
        const each = (rise + count - 1n) / count;
        const known = line.costs.get(operation) ?? 0n;
        if (each > known) line.costs.set(operation, each);
      }
      const over = (endedAt: number) => endedAt < startedAt && (shown || clock.monotonic() - endedAt > CHARGE_SHOWS_MS);
      line.settling = line.settling.filter(({ endedAt }) => !over(endedAt));
      line.used = used ?? line.used;
      wakeSome(line);
    },
    unsettled: (account) => lineOf(account).settling.length > 0,
    waiting: (account) => lineOf(account).waiters.size,
  };
}
