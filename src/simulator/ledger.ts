import type { Assumptions } from "./assumptions.ts";
import type { StoredEndpoint } from "./endpoints.ts";
import type { KeyIdentity } from "./keys.ts";

/** One paid use. `amount` is in 1/10000 yuan. */
export type Charge = {
  atMs: number;
  key: KeyIdentity;
  productID: string;
  productName: string;
  category: string;
  /** Used quantity, for example characters or seconds. */
  usage: number;
  unitPrice: number;
  amount: number;
  /** Part of `amount` that a voucher pays; default 0. */
  voucher?: number;
  /** Optional fields of the bill. */
  details?: BillDetails;
};

export type BillDetails = {
  pricePrecision?: number | undefined;
  llmSeries?: string | undefined;
  multimodalPricing?: Record<string, unknown> | undefined;
  tieredConfig?: Record<string, unknown> | undefined;
};

/** All paid uses. Bills and budgets derive from it. */
export type Ledger = {
  charge(charge: Charge): void;
  /** Charges the GPUs of an endpoint's workers up to now. */
  accrue(endpoint: StoredEndpoint): void;
  /** Those that bills and budgets show by now. */
  charges(): readonly Charge[];
  /** Returns what a key has used since a time, as budgets show it by now, in 1/10000 yuan. */
  used(keyID: string, sinceMs: number): number;
  total(): number;
};

export function createLedger(context: {
  config: () => Assumptions;
  now: () => number;
  keyOf: (endpoint: StoredEndpoint) => KeyIdentity;
}): Ledger {
  const { config, now, keyOf } = context;
  const charges: Charge[] = [];
  const accruedTo = new Map<string, number>();
  let total = 0;

  function shown(): readonly Charge[] {
    const { chargeDelayMs, timeScale } = config();
    return chargeDelayMs === 0 ? charges : charges.filter(({ atMs }) => atMs + chargeDelayMs * timeScale <= now());
  }

  const charge = (entry: Charge) => {
    charges.push(entry);
    total += entry.amount;
  };
  return {
    charge,
    accrue: (endpoint) => {
      const from = accruedTo.get(endpoint.id) ?? endpoint.createdAtMs;
      const cards = endpoint.workers.length * endpoint.parameters.workerConfig.gpuNum;
      const unitPrice = config().prices.gpuPerCardHour;
      const perMs = (cards * unitPrice) / 3_600_000;
      const amount = Math.floor((now() - from) * perMs);
      if (cards === 0) accruedTo.set(endpoint.id, now());
      if (amount < 1) return;
      // Advance only by the time that the whole amount pays for, so that no fraction is lost.
      accruedTo.set(endpoint.id, from + amount / perMs);
      charge({
        atMs: now(),
        key: keyOf(endpoint),
        productID: endpoint.parameters.products[0]?.id ?? "",
        productName: "GPU serverless",
        category: "gpu",
        usage: Math.round((amount / perMs / 1000) * cards),
        unitPrice,
        amount,
      });
    },
    charges: shown,
    used: (keyID, sinceMs) =>
      shown()
        .filter(({ key, atMs }) => key.id === keyID && atMs >= sinceMs)
        .reduce((sum, { amount }) => sum + amount, 0),
    total: () => total,
  };
}
