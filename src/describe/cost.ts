import type { AccountSpec, AccountStatus } from "../api/v1alpha1/account.ts";
import type { GpuEndpoint } from "../api/v1alpha1/gpu-endpoint.ts";
import { formatYuan } from "../base/money.ts";
import { operationMeter } from "../controllers/billing/meters.ts";
import { hourlyCost } from "../controllers/billing/object-cost.ts";
import { costAt, type Prices, readPrices } from "../controllers/billing/prices.ts";
import { speechRequest } from "../controllers/jobs/requests/speech.ts";
import { videoWork } from "../controllers/jobs/requests/video.ts";
import type { Job } from "../controllers/jobs/types.ts";
import { StalledError, type ValueReader } from "../controllers/references.ts";

/** What planned work costs in yuan at the last known price. `per`: a job, all jobs of a batch, or an hour of all workers of an endpoint. */
export type PlannedCost = { estimatedCost: string; per: "Job" | "Batch" | "Hour" };

/** An account as the user may read it; undefined: not at all. */
export type ReadableAccount =
  | { spec: Pick<AccountSpec, "speech">; status?: Pick<AccountStatus, "prices"> | undefined }
  | undefined;

/** Undefined: its price or its text is not known. @throws InvalidJobError */
export async function costOfJob(
  job: Job,
  account: ReadableAccount,
  reader: ValueReader,
): Promise<PlannedCost | undefined> {
  if (account === undefined) return undefined;
  try {
    const limits = { maxSpeechCharacters: account.spec.speech.maxCharacters };
    const { consumption, operation } =
      "model" in job.spec ? await speechRequest({ ...job, spec: job.spec }, limits, reader) : videoWork(job);
    const price = pricesOf(account).get(operationMeter(operation));
    if (price === undefined) return undefined;
    return { estimatedCost: formatYuan(costAt(price, BigInt(consumption.quantity))), per: "Job" };
  } catch (error) {
    if (error instanceof StalledError) return undefined;
    throw error;
  }
}

/** With `workers.max` workers. Undefined: a price is not known. */
export function costOfEndpoint({ spec }: GpuEndpoint, account: ReadableAccount): PlannedCost | undefined {
  const prices = pricesOf(account);
  const priceOf = (meter: Parameters<Prices["get"]>[0], quantity: number) => {
    const price = prices.get(meter);
    return price && costAt(price, BigInt(quantity));
  };
  const hour = hourlyCost({ priceOf }, spec, spec.suspend ? 0 : spec.workers.max);
  return hour === undefined ? undefined : { estimatedCost: hour, per: "Hour" };
}

const pricesOf = (account: ReadableAccount): Prices => readPrices(account?.status?.prices);
