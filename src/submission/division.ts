import type { Money } from "../base/money.ts";
import type { Operation } from "../provider/operations.ts";

/** Namespaces whose work counts together: all of a share of the account, or each of them alone. */
export type Pool = {
  /** Name of the share. */
  share: string;
  /** What the share gets while several wait, in proportion to the other weights. */
  weight: number;
  namespaces: readonly string[];
  concurrentTasks: number | undefined;
  requestsPerMinute: number | undefined;
  dailyLimit: Money | undefined;
  monthlyLimit: Money | undefined;
};

/** What a pool has cost. `unpriced`: a model or product that was used and whose price is not known. */
export type PoolCost = { day: Money; month: Money; unpriced: string | undefined };

/** How an account is divided among namespaces (ClusterAccount.spec.shares). */
export type Division = {
  /** undefined: no share selects the namespace. */
  poolOf(namespace: string): Pool | undefined;
  /** What accepted requests and workers of the pool have cost. */
  spent(pool: Pool): PoolCost;
  /** What a request costs. undefined: its price is not known. */
  costOf(operation: Operation, quantity: number | undefined): Money | undefined;
};
