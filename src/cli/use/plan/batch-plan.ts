import type { MediaBatch } from "../../../api/v1alpha1/media-batch.ts";
import { formatYuan } from "../../../base/money.ts";
import { itemProblem, type Quantities } from "../../../controllers/batch/check.ts";
import { jobResourceOf } from "../../../controllers/batch/child.ts";
import { createItemReader } from "../../../controllers/batch/item-reader.ts";
import { sourceOf } from "../../../controllers/batch/source.ts";
import { operationMeter } from "../../../controllers/billing/meters.ts";
import { costAt, readPrices } from "../../../controllers/billing/prices.ts";
import type { PlannedCost, ReadableAccount } from "../../../describe/cost.ts";
import { accountBlockers, type BlockerDeps, stalls, storeBlockers } from "./blockers.ts";
import { conflict, type Planned } from "./planned.ts";

/** Longest text of a job without an account that says more, in characters. */
const DEFAULT_CHARACTERS = 50_000;

/** What a new batch sends: its items are checked as the operator checks them, unless they lie in a store. */
export async function plannedBatch(
  deps: BlockerDeps,
  batch: MediaBatch,
  account: ReadableAccount,
): Promise<Omit<Planned, "object">> {
  const blockers = [...(await accountBlockers(deps, batch)), ...(await storeBlockers(deps, batch))];
  const { object } = batch.spec.items;
  if (object !== undefined) {
    const message = `send a paid request for each item of ${object.key}, which only the operator reads`;
    return blockers.length > 0 ? conflict(blockers) : { action: "Submit", message, changes: [] };
  }
  const quantities: Quantities = new Map();
  const limits = { maxSpeechCharacters: account?.spec.speech.maxCharacters ?? DEFAULT_CHARACTERS };
  const reader = createItemReader(batch.spec.items.format, jobResourceOf(batch).kind);
  const source = sourceOf(batch, { kube: deps.kube, stores: { resolve: () => ({ kind: "Checking" }) } });
  const check = reader.check(
    source,
    { problemOf: (item) => itemProblem(batch, item, limits, quantities) },
    deps.signal,
  );
  blockers.push(...(await stalls(check)));
  if (blockers.length > 0) return conflict(blockers);
  const checked = await check;
  if (checked.kind === "Bad") {
    return conflict(checked.problems.map(({ line, message }) => `InvalidItems: line ${line}: ${message}`));
  }
  const operations = [...quantities.keys()].join(", ");
  const message = `send ${checked.total} paid requests${operations === "" ? "" : ` (${operations})`}`;
  return { action: "Submit", message, changes: [], ...costOf(quantities, account) };
}

/** Undefined: a price is not known. */
function costOf(quantities: Quantities, account: ReadableAccount): PlannedCost | undefined {
  const prices = readPrices(account?.status?.prices);
  const costs = [...quantities].map(([operation, quantity]) => {
    const price = prices.get(operationMeter(operation));
    return price && costAt(price, BigInt(quantity));
  });
  const known = costs.filter((cost) => cost !== undefined);
  if (known.length < costs.length || known.length === 0) return undefined;
  return { estimatedCost: formatYuan(known.reduce((sum, cost) => sum + cost)), per: "Batch" };
}
