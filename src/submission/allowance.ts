import type { Money } from "../base/money.ts";
import type { Division } from "./division.ts";

/** What the budget of an account leaves for new paid work. */
export type BudgetState =
  /** The budget is not read yet, cannot be read, or does not show the key. */
  | { kind: "Unknown"; message: string }
  /** No limit. */
  | { kind: "Unlimited"; message: string }
  /** `headroom`: what may be spent until the budget is exceeded; 0 or less when it is exceeded. */
  | { kind: "Limited"; headroom: Money; message: string };

/** What an account allows now. */
export type Allowance = {
  /** Most tasks in flight (`maxConcurrentTasks`); undefined: any number. */
  maxTasks: number | undefined;
  /** Set only when new paid work waits for the budget (`budget.action: HoldNew`). */
  budget: BudgetState | undefined;
  /** What a task reserves until its cost is billed (`budget.reservePerTask`). */
  reserve: Money | undefined;
  /** How long after the end of a task its charge may show (`billing.settleTime`). Default 24 h. */
  settleMs?: number | undefined;
  /** How the account is divided among namespaces. Default: it is not. */
  division?: Division | undefined;
};

/** The allowance of an account that is not known yet; its jobs wait for the account itself. */
export const NO_ALLOWANCE: Allowance = { maxTasks: undefined, budget: undefined, reserve: undefined };

/** What an account has cost in total by one of its books, which are its key budgets and its bills. */
export type BookReading = {
  /** Tells one book from another: the difference between the sums of two books is no cost. */
  book: string;
  /** undefined: not read yet, or a part of it cannot be read. */
  used: Money | undefined;
  /** When the last read that succeeded began, monotonic ms; -Infinity: none did. */
  startedAt: number;
};

/** Why the budget holds a task back. */
export type BudgetRefusal = { reason: "BudgetExceeded" | "BudgetUnknown"; message: string };
