import type { Clock } from "../clock.ts";
import type { BudgetState } from "../controllers/account/budget.ts";
import type { AccountKey } from "../controllers/account/registry.ts";
import type { Money } from "../money.ts";
import type { Operation } from "../provider/operations.ts";

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

/** Of an account that is not known yet: its jobs wait for it anyway. */
export const NO_ALLOWANCE: Allowance = { maxTasks: undefined, budget: undefined, reserve: undefined };

export type Refusal = { reason: "ConcurrencyLimited" | "BudgetExceeded" | "BudgetUnknown"; message: string };

/**
 * Who of an account's jobs may be paid for now, the one that asked first going first. A job takes a place before its
 * request and gives it back when its task has ended. Under a budget each place reserves what the task may cost, until
 * the account's money has been read after its end: so a budget is never overdrawn by what is in flight. What a task
 * costs is what the spec says, or the most that one was seen to cost; until one was seen, they go one at a time.
 */
export type PaidWork = {
  /** Takes a place, or says why not; then `wake` is called when it is worth asking again. */
  admit(account: AccountKey, work: Work, wake: () => void): Refusal | undefined;
  /** It runs, as its status says (after a restart nothing else remembers it). */
  running(account: AccountKey, work: Work): void;
  /** Its task has ended, or it does not want to be sent any more. `charged`: it may have cost something. */
  ended(uid: string, charged: boolean): void;
  /**
   * The account's money was read: `used` is what it has cost in all, undefined when only part of it is known; `startedAt`
   * (monotonic ms) when the reading began.
   */
  moneyRead(account: AccountKey, used: Money | undefined, startedAt: number): void;
  /**
   * How soon reading the money again would tell something: tasks have ended since, or jobs wait for the budget.
   */
  urgency(account: AccountKey): "Settling" | "Waiting" | "None";
  /** Jobs that are waiting for a place. */
  waiting(account: AccountKey): number;
};

export type PaidWorkOptions = {
  clock: Clock;
  allowance: (account: AccountKey) => Allowance;
  /** What the statuses of its jobs say is in flight; asked once an account. */
  inFlight: (account: AccountKey) => Work[];
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
  /** In order of arrival; `askedAt` (monotonic ms): when it last did. */
  waiters: Map<string, { askedAt: number; wake: () => void }>;
  costs: Map<Operation, Money>;
  used: Money | undefined;
};

export function createPaidWork({ clock, allowance, inFlight }: PaidWorkOptions): PaidWork {
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
    for (const [waiter, { askedAt }] of waiters) {
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
      const message = `The account allows ${maxTasks} tasks in flight (maxConcurrentTasks)`;
      return { reason: "ConcurrencyLimited" as const, message };
    }
    if (budget === undefined || budget.kind === "Unlimited") return undefined;
    const exceeded = (message: string) => ({ reason: "BudgetExceeded" as const, message });
    if (budget.kind === "Unknown") return { reason: "BudgetUnknown" as const, message: budget.message };
    if (budget.headroom <= 0n) return exceeded(budget.message);
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
    return exceeded("What the budget leaves is reserved by tasks whose cost has not shown yet");
  }

  function wakeSome(line: Line): void {
    for (const { wake } of [...line.waiters.values()].slice(0, WAKE_AT_ONCE)) wake();
  }

  return {
    admit(account, work, wake) {
      const line = lineOf(account);
      if (line.places.has(work.uid)) return undefined;
      const refused = refusal(line, work, allowance(account));
      if (refused !== undefined) {
        line.waiters.set(work.uid, { askedAt: clock.monotonic(), wake });
        return refused;
      }
      line.waiters.delete(work.uid);
      line.places.set(work.uid, work.operation);
      return undefined;
    },
    running(account, { uid, operation }) {
      lineOf(account).places.set(uid, operation);
    },
    ended(uid, charged) {
      for (const [account, line] of lines) {
        const operation = line.places.get(uid);
        const waited = line.waiters.delete(uid);
        if (operation === undefined && !waited) continue;
        line.places.delete(uid);
        if (operation !== undefined && charged && allowance(account).budget?.kind === "Limited") {
          line.settling.push({ operation, endedAt: clock.monotonic() });
        }
        wakeSome(line);
      }
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
    urgency(account) {
      const { settling, waiters } = lineOf(account);
      if (settling.length > 0) return "Settling";
      return waiters.size > 0 ? "Waiting" : "None";
    },
    waiting: (account) => lineOf(account).waiters.size,
  };
}
