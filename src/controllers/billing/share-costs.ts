import type { Clock } from "../../base/clock.ts";
import type { Money } from "../../base/money.ts";
import type { PoolCost } from "../../submission/division.ts";
import type { AccountKey } from "../account/registry.ts";
import { billDay } from "./bill-day.ts";
import type { CostEstimate, CostEstimates } from "./estimates.ts";
import type { UsageLedger } from "./ledger.ts";
import type { Meter } from "./meters.ts";
import type { Usage } from "./usage.ts";

/**
 * What namespaces have cost in the current day and month of the bills: the usage that is recorded, at the last known prices. For the
 * month, it is what the split of the bills shows if that is more.
 */
export type ShareCosts = {
  /**
   * Reads what the ledger and the jobs show of the current month. A crash loses the last minutes of the ledger; a deleted job is in the
   * ledger only. So of each object the higher one counts. Only the first call for an account counts.
   */
  load(account: AccountKey, ofJobs: () => Usage[], signal: AbortSignal): Promise<void>;
  /** Usage since. Of an account that was not loaded, it is in the ledger. */
  add(usage: Usage): void;
  spent(account: AccountKey, namespaces: readonly string[]): PoolCost;
  forget(account: AccountKey): void;
};

export type ShareCostsOptions = {
  ledger: Pick<UsageLedger, "read">;
  estimates: Pick<CostEstimates, "get" | "priceOf">;
  timeZoneOf(account: AccountKey): string;
  clock: Clock;
};

type Quantities = Map<Meter, number>;
/** What one namespace used. `day`, `month`: `YYYY-MM-DD` and `YYYY-MM` that the quantities are of. */
type Used = { day: string; ofDay: Quantities; month: string; ofMonth: Quantities };

export function createShareCosts({ ledger, estimates, timeZoneOf, clock }: ShareCostsOptions): ShareCosts {
  const accounts = new Map<AccountKey, Map<string, Used>>();
  const bySplit = new WeakMap<CostEstimate, ReadonlyMap<string, Money>>();
  const today = (account: AccountKey) => billDay(timeZoneOf(account), clock.now());

  function usedBy(account: AccountKey, namespace: string): Used | undefined {
    const namespaces = accounts.get(account);
    if (namespaces === undefined) return undefined;
    const day = today(account);
    const used = namespaces.get(namespace) ?? { day, ofDay: new Map(), month: day.slice(0, 7), ofMonth: new Map() };
    namespaces.set(namespace, used);
    if (used.month !== day.slice(0, 7)) Object.assign(used, { month: day.slice(0, 7), ofMonth: new Map() });
    if (used.day !== day) Object.assign(used, { day, ofDay: new Map() });
    return used;
  }

  function add({ account, namespace, meter, day, quantity }: Usage): void {
    const used = namespace === "" ? undefined : usedBy(account, namespace);
    if (used === undefined || !day.startsWith(used.month)) return;
    used.ofMonth.set(meter, (used.ofMonth.get(meter) ?? 0) + quantity);
    if (day === used.day) used.ofDay.set(meter, (used.ofDay.get(meter) ?? 0) + quantity);
  }

  /** What the bills of the month show. An estimate of an earlier month counts for nothing. */
  function splitOf(account: AccountKey, namespace: string): Money {
    const estimate = estimates.get(account);
    if (
      estimate === undefined ||
      billDay(timeZoneOf(account), estimate.at).slice(0, 7) !== today(account).slice(0, 7)
    ) {
      return 0n;
    }
    const split =
      bySplit.get(estimate) ??
      new Map(estimate.result.shares("Namespace").map((share) => [share.namespace, share.amount]));
    bySplit.set(estimate, split);
    return split.get(namespace) ?? 0n;
  }

  return {
    async load(account, ofJobs, signal) {
      if (accounts.has(account)) return;
      const month = today(account).slice(0, 7);
      const kept = await ledger.read(account, [month], signal);
      if (accounts.has(account)) return;
      accounts.set(account, new Map());
      const shown = ofJobs().filter(({ day }) => day.startsWith(month));
      for (const usage of [...kept, ...missingIn(kept, shown)]) add(usage);
    },
    add,
    spent(account, namespaces) {
      let unpriced: Meter | undefined;
      const costOf = (quantities: Quantities) =>
        [...quantities].reduce<Money>((sum, [meter, quantity]) => {
          const cost = estimates.priceOf(account, meter, quantity);
          if (cost === undefined && quantity > 0) unpriced = meter;
          return sum + (cost ?? 0n);
        }, 0n);
      const total = { day: 0n, month: 0n };
      for (const namespace of namespaces) {
        const { ofDay = new Map(), ofMonth = new Map() } = usedBy(account, namespace) ?? {};
        const [month, split] = [costOf(ofMonth), splitOf(account, namespace)];
        total.day += costOf(ofDay);
        total.month += month > split ? month : split;
      }
      return { ...total, unpriced: unpriced?.slice(unpriced.indexOf("/") + 1) };
    },
    forget: (account) => void accounts.delete(account),
  };
}

/** What the jobs show beyond the ledger. Jobs of one batch are one object there. */
function missingIn(kept: readonly Usage[], ofJobs: readonly Usage[]): Usage[] {
  const idOf = ({ namespace, object, created, meter }: Usage) => JSON.stringify([namespace, object, created, meter]);
  const known = new Map<string, number>();
  for (const usage of kept) known.set(idOf(usage), (known.get(idOf(usage)) ?? 0) + usage.quantity);
  return ofJobs.flatMap((usage) => {
    const left = known.get(idOf(usage)) ?? 0;
    known.set(idOf(usage), Math.max(0, left - usage.quantity));
    return usage.quantity > left ? [{ ...usage, quantity: usage.quantity - left }] : [];
  });
}
