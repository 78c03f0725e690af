import type { Logger } from "pino";
import type { Clock } from "../../base/clock.ts";
import type { Money } from "../../base/money.ts";
import type { BillCollector } from "../../provider/money/spend.ts";
import type { AccountKey } from "../account/registry.ts";
import type { UsageLedger } from "./ledger.ts";
import type { Meter } from "./meters.ts";
import { type NamespaceCreated, openSplit, type SplitRequest } from "./open-split.ts";
import type { Owner } from "./recorder.ts";
import type { MeterCost, SplitResult } from "./split.ts";

/** What the current month of an account has cost so far, as of the last reading of its bills. */
export type CostEstimate = {
  result: SplitResult;
  /** When the bills were read, ms since the epoch. */
  at: number;
  /** 0 for an object without a share. */
  costOf(object: Owner): Money;
  /** What a quantity costs at the price of the last month that had usage. undefined: no bill has shown a price yet. */
  priceOf(meter: Meter, quantity: number): Money | undefined;
};

/** The estimates of all accounts. */
export type CostEstimates = {
  /** Starts the split of a reading of the month's bills. undefined: the usage cannot be read, and the former estimate stays. */
  collect(request: SplitRequest, signal: AbortSignal): Promise<BillCollector | undefined>;
  get(account: AccountKey): CostEstimate | undefined;
  entries(): Iterable<[AccountKey, CostEstimate]>;
  /**
   * Whether the account has another estimate than at the last call. A failed reading of the bills, and a reading of key budgets, makes
   * none.
   */
  takeNew(account: AccountKey): boolean;
  /** The account is gone. */
  forget(account: AccountKey): void;
};

export type CostEstimatesOptions = {
  ledger: Pick<UsageLedger, "read">;
  namespaceCreated: NamespaceCreated;
  clock: Clock;
  log: Pick<Logger, "warn">;
};

export function createCostEstimates({ ledger, namespaceCreated, clock, log }: CostEstimatesOptions): CostEstimates {
  const estimates = new Map<AccountKey, CostEstimate>();
  /** Accounts with an estimate that was not taken yet. */
  const untaken = new Set<AccountKey>();
  /** The last known cost of each meter. A new month has no bills yet. */
  const prices = new Map<AccountKey, Map<Meter, MeterCost>>();

  function complete(account: AccountKey, result: SplitResult): void {
    const known = prices.get(account) ?? new Map<Meter, MeterCost>();
    prices.set(account, known);
    for (const [meter, cost] of result.byMeter) if (cost.quantity > 0n) known.set(meter, cost);
    untaken.add(account);
    const idOf = ({ namespace, object, created }: Owner) => `${namespace}/${object}/${created}`;
    const objects = new Map(result.shares("Object").map((share) => [idOf(share), share.amount]));
    estimates.set(account, {
      result,
      at: clock.now(),
      costOf: (object) => objects.get(idOf(object)) ?? 0n,
      priceOf: (meter, quantity) => costOfQuantity(known.get(meter), BigInt(Math.round(quantity))),
    });
  }

  return {
    get: (account) => estimates.get(account),
    entries: () => estimates,
    takeNew: (account) => untaken.delete(account),
    forget(account) {
      for (const known of [estimates, untaken, prices]) known.delete(account);
    },
    async collect(request, signal) {
      const { account } = request;
      try {
        const split = await openSplit(request, { ledger, namespaceCreated }, signal);
        return { add: split.add, complete: () => complete(account, split.result()) };
      } catch (error) {
        signal.throwIfAborted();
        log.warn({ account, reason: String(error) }, "the cost by namespace is not estimated: usage could not be read");
        return undefined;
      }
    },
  };
}

/** Rounded to the nearest 1/10000 yuan. */
function costOfQuantity(cost: MeterCost | undefined, quantity: bigint): Money | undefined {
  if (cost === undefined || cost.amount < 0n) return undefined;
  return (2n * cost.amount * quantity + cost.quantity) / (2n * cost.quantity);
}
