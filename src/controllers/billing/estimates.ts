import type { Logger } from "pino";
import type { Clock } from "../../base/clock.ts";
import type { Money } from "../../base/money.ts";
import type { BillCollector } from "../../provider/money/spend.ts";
import type { AccountKey } from "../account/registry.ts";
import type { Owner } from "./job-owner.ts";
import type { UsageLedger } from "./ledger.ts";
import type { Meter } from "./meters.ts";
import { type NamespaceCreated, openSplit, type SplitRequest } from "./open-split.ts";
import { costAt, type Price, type Prices } from "./prices.ts";
import type { SplitResult } from "./split.ts";

/** What the current month of an account has cost so far, as of the last reading of its bills. */
export type CostEstimate = {
  result: SplitResult;
  /** When the bills were read, ms since the epoch. */
  at: number;
  /** 0 for an object without a share. */
  costOf(object: Owner): Money;
};

/** The estimates of all accounts. */
export type CostEstimates = {
  /** Starts the split of a reading of the month's bills. undefined: the usage cannot be read, and the former estimate stays. */
  collect(request: SplitRequest, signal: AbortSignal): Promise<BillCollector | undefined>;
  get(account: AccountKey): CostEstimate | undefined;
  /** What a quantity costs at the last known price. undefined: no bill has shown a price yet. */
  priceOf(account: AccountKey, meter: Meter, quantity: number): Money | undefined;
  /** The last known prices of the account. undefined: none since the start. */
  prices(account: AccountKey): Prices | undefined;
  /** The prices that a status shows. Those that were seen since the start stay. */
  restorePrices(account: AccountKey, prices: Prices): void;
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

/** Most prices that are kept of an account: the service chooses the names of its products. */
const MOST_PRICES = 10_000;

export function createCostEstimates({ ledger, namespaceCreated, clock, log }: CostEstimatesOptions): CostEstimates {
  const estimates = new Map<AccountKey, CostEstimate>();
  /** Accounts with an estimate that was not taken yet. */
  const untaken = new Set<AccountKey>();
  /** A new month has no bills yet, so that prices stay. */
  const prices = new Map<AccountKey, Map<Meter, Price>>();

  function complete(account: AccountKey, result: SplitResult): void {
    const known = prices.get(account) ?? new Map<Meter, Price>();
    prices.set(account, known);
    for (const [meter, price] of result.prices) {
      if (known.size < MOST_PRICES || known.has(meter)) known.set(meter, price);
    }
    untaken.add(account);
    const idOf = ({ namespace, object, created }: Owner) => `${namespace}/${object}/${created}`;
    const objects = new Map(result.shares("Object").map((share) => [idOf(share), share.amount]));
    estimates.set(account, {
      result,
      at: clock.now(),
      costOf: (object) => objects.get(idOf(object)) ?? 0n,
    });
  }

  return {
    get: (account) => estimates.get(account),
    priceOf(account, meter, quantity) {
      const price = prices.get(account)?.get(meter);
      return price && costAt(price, BigInt(Math.round(quantity)));
    },
    prices: (account) => prices.get(account),
    restorePrices: (account, shown) => void prices.set(account, new Map([...shown, ...(prices.get(account) ?? [])])),
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
