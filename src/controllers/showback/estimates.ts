import type { Logger } from "pino";
import type { BillCollector } from "../../provider/money/spend.ts";
import type { AccountKey } from "../account/registry.ts";
import type { UsageLedger } from "./ledger.ts";
import { openSplit, type SplitRequest } from "./open-split.ts";
import type { SplitResult } from "./split.ts";

/** What the current month has cost so far, by account, as of the last reading of its bills. */
export type CostEstimates = {
  /** Starts the split of a reading of the month's bills. undefined: the usage cannot be read, and the former estimate stays. */
  collect(request: SplitRequest, signal: AbortSignal): Promise<BillCollector | undefined>;
  entries(): Iterable<[AccountKey, SplitResult]>;
};

export function createCostEstimates(ledger: Pick<UsageLedger, "read">, log: Pick<Logger, "warn">): CostEstimates {
  const estimates = new Map<AccountKey, SplitResult>();

  return {
    entries: () => estimates,
    async collect(request, signal) {
      const { account } = request;
      try {
        const split = await openSplit(request, (key, months) => ledger.read(key, months, signal));
        return { add: split.add, complete: () => void estimates.set(account, split.result()) };
      } catch (error) {
        signal.throwIfAborted();
        log.warn({ account, reason: String(error) }, "the cost by namespace is not estimated: usage could not be read");
        return undefined;
      }
    },
  };
}
