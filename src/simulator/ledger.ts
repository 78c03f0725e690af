import type { Assumptions } from "./assumptions.ts";
import type { StoredEndpoint } from "./endpoints.ts";
import type { KeyIdentity } from "./keys.ts";

/** One use that costs. `amount` is in 1/10000 yuan. */
export type Charge = {
  atMs: number;
  key: KeyIdentity;
  productID: string;
  productName: string;
  category: string;
  /** How much was used, e.g. characters or seconds. */
  usage: number;
  unitPrice: number;
  amount: number;
  /** How much of `amount` a voucher pays; 0 unless given. */
  voucher?: number;
  /** Fields of the bill that uses of this service leave out, or leave as they are. */
  details?: BillDetails;
};

export type BillDetails = {
  pricePrecision?: number | undefined;
  llmSeries?: string | undefined;
  multimodalPricing?: Record<string, unknown> | undefined;
  tieredConfig?: Record<string, unknown> | undefined;
};

/** What was used and what it costs; bills and budgets are views of it. */
export type Ledger = {
  charge(charge: Charge): void;
  /** Charges the cards of an endpoint's workers up to now. */
  accrue(endpoint: StoredEndpoint): void;
  charges(): readonly Charge[];
  /** What a key used since then, in 1/10000 yuan. */
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
      // Only the time that was charged is passed over, so that small parts add up.
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
    charges: () => charges,
    used: (keyID, sinceMs) =>
      charges.reduce((sum, entry) => (entry.key.id === keyID && entry.atMs >= sinceMs ? sum + entry.amount : sum), 0),
    total: () => total,
  };
}
