import type { GpuEndpointSpec, GpuEndpointStatus } from "../../api/v1alpha1/gpu-endpoint.ts";
import { rfc3339 } from "../../base/clock.ts";
import { formatYuan, type Money } from "../../base/money.ts";
import { isSameJSON } from "../../base/same-json.ts";
import type { StoredMeta } from "../../kube/types.ts";
import { accountToUse } from "../account/binding.ts";
import { type AccountKey, accountKey } from "../account/registry.ts";
import type { ControllerDeps } from "../controller-deps.ts";
import { type Job, type JobStatus, paidOperation } from "../jobs/types.ts";
import type { CostEstimate } from "./estimates.ts";
import type { Owner } from "./job-owner.ts";
import { type Meter, operationMeter, productMeter } from "./meters.ts";
import type { UsageRecorder } from "./recorder.ts";
import { createdOf, type Usage } from "./usage.ts";

/** How long a status shows an estimate, while nothing else in it changes, before a newer one is written. */
export const SHOW_MS = 24 * 3_600_000;

/** `Hidden`: the namespace may not see costs of the account. `Unknown`: neither bills nor prices are known yet. */
export type VisibleCosts = ({ kind: "Shown" } & ShownCosts) | { kind: "Hidden" } | { kind: "Unknown" };
/** `month`: undefined until the bills were read. */
type ShownCosts = { month: CostEstimate | undefined; priceOf(meter: Meter, quantity: number): Money | undefined };

/**
 * The costs that a status in a namespace may show: with an Account always, with a ClusterAccount when an entry of
 * spending.reports selects the namespace.
 */
export async function visibleCosts(
  { accounts, estimates }: Pick<ControllerDeps, "accounts" | "estimates">,
  account: AccountKey | undefined,
  namespace: string,
): Promise<VisibleCosts> {
  const handle = account === undefined ? undefined : accounts.get(account)?.handle;
  if (account === undefined || handle === undefined) return { kind: "Unknown" };
  const month = estimates.get(account);
  if (month === undefined && estimates.prices(account) === undefined) return { kind: "Unknown" };
  // The labels of the namespace may be unreadable for a moment, which blocks nothing else.
  const keys = await handle.reportableKeys(namespace).catch(() => undefined);
  if (keys === undefined) return { kind: "Unknown" };
  if (keys.kind === "Keys" && keys.keyIDs.length === 0) return { kind: "Hidden" };
  return { kind: "Shown", month, priceOf: (meter, quantity) => estimates.priceOf(account, meter, quantity) };
}

/**
 * The status of an endpoint with its estimated cost. An estimate alone is written once a day, so that it costs no more writes.
 * Pure; `now`: ms since the epoch.
 */
export function withEndpointCost(
  { metadata, spec, status: previous }: CostlyEndpoint,
  status: GpuEndpointStatus,
  visible: VisibleCosts,
  now: number,
): GpuEndpointStatus {
  const { estimatedCost: shown, ...rest } = status;
  if (visible.kind === "Hidden") return rest;
  const estimate = visible.kind === "Shown" ? visible.month : undefined;
  if (visible.kind === "Unknown" || estimate === undefined || status.endpointID === undefined) return status;
  const same =
    previous !== undefined &&
    isSameJSON({ ...previous, estimatedCost: undefined }, { ...rest, estimatedCost: undefined });
  if (shown !== undefined && same && now - Date.parse(shown.asOf) < SHOW_MS) return status;
  const { namespace, name } = metadata;
  const month = formatYuan(estimate.costOf({ namespace, object: `GpuEndpoint/${name}`, created: createdOf(metadata) }));
  const hour = hourlyCost(visible, spec, status.workers?.total ?? 0);
  const maxHour = hourlyCost(visible, spec, spec.suspend ? 0 : spec.workers.max);
  const hourly = hour === undefined || maxHour === undefined ? {} : { hour, maxHour };
  return { ...rest, estimatedCost: { month, ...hourly, asOf: rfc3339(estimate.at) } };
}

type CostlyEndpoint = {
  metadata: Pick<StoredMeta, "name" | "creationTimestamp"> & { namespace: string };
  spec: Pick<GpuEndpointSpec, "products" | "suspend"> & { workers: Pick<GpuEndpointSpec["workers"], "max" | "gpus"> };
  status?: GpuEndpointStatus;
};

/** The cost of an hour of the workers. undefined: the price of a product is not known. */
export function hourlyCost(
  { priceOf }: Pick<ShownCosts, "priceOf">,
  { products, workers: { gpus } }: CostlyEndpoint["spec"],
  workers: number,
): string | undefined {
  const costs = products.map(({ id }) => priceOf(productMeter(id), workers * gpus * SECONDS_PER_HOUR));
  const known = costs.filter((cost) => cost !== undefined);
  return known.length < costs.length
    ? undefined
    : formatYuan(known.reduce((most, cost) => (cost > most ? cost : most), 0n));
}

const SECONDS_PER_HOUR = 3_600;

/** Whether a bound endpoint shows no estimate, or one that is a day old. */
export function isCostOutdated(status: GpuEndpointStatus | undefined, now: number): boolean {
  if (status?.endpointID === undefined) return false;
  return status.estimatedCost === undefined || now - Date.parse(status.estimatedCost.asOf) >= SHOW_MS;
}

/**
 * Records what a job consumed, once per attempt: when its status first shows that the service accepted the request.
 * @param kind of the object
 */
export function recordUsage(
  { usage }: { usage: Pick<UsageRecorder, "ownerOfJob" | "accepted" | "unknown"> },
  kind: string,
  { before, after }: { before: Job; after: Job },
): void {
  const { submission, consumption, account } = after.status ?? {};
  const known = before.status?.submission;
  const isNew = known?.id !== submission?.id || known?.state !== submission?.state;
  if (submission === undefined || !isNew || consumption === undefined || account === undefined) return;
  if (submission.state !== "Accepted" && submission.state !== "Unknown") return;
  const record = submission.state === "Accepted" ? usage.accepted : usage.unknown;
  record({
    account: accountKey(account.kind, account.name, after.metadata.namespace),
    ...usage.ownerOfJob(kind, after),
    operation: paidOperation(after),
    quantity: consumption.quantity,
  });
}

/**
 * What all attempts of a job used that were accepted, or may have been, on the day of the last one. Empty: none was.
 * @param owner what the usage counts for
 */
export function usageShown(
  job: Job,
  { account, owner, dayOf }: { account: AccountKey; owner: Owner; dayOf: (time: number) => string },
): Usage[] {
  const { consumption, attempts = 0, submitTime, submission } = job.status ?? {};
  const time = Date.parse(submitTime ?? submission?.time ?? "");
  if (consumption === undefined || attempts === 0 || Number.isNaN(time)) return [];
  return [
    {
      account,
      ...owner,
      meter: operationMeter(paidOperation(job)),
      day: dayOf(time),
      quantity: consumption.quantity * attempts,
      requests: attempts,
    },
  ];
}

/**
 * `status.estimatedCost` of a job: until it ends of one attempt, as it was first known, then of all that were accepted. Absent: nothing was
 * charged, or the price is not known or not shown.
 * @param written what the status is about to show besides
 */
export async function costOf(
  shared: Pick<ControllerDeps, "accounts" | "estimates">,
  job: Job,
  { ended, ...written }: Partial<JobStatus> & { ended: boolean },
): Promise<Pick<JobStatus, "estimatedCost">> {
  const { submission, consumption, estimatedCost: shown, attempts = 1 } = { ...job.status, ...written };
  if (consumption === undefined || (ended && submission?.state !== "Accepted")) return {};
  if (!ended && shown !== undefined) return { estimatedCost: shown };
  if (submission?.state === "Intended") return {}; // the request waits for this write
  const { namespace } = job.metadata;
  const account = shared.accounts.keyOf(written.account ?? accountToUse(job), namespace);
  const visible = await visibleCosts(shared, account, namespace);
  if (visible.kind !== "Shown") return {};
  const cost = visible.priceOf(operationMeter(paidOperation(job)), consumption.quantity * (ended ? attempts : 1));
  return cost === undefined ? {} : { estimatedCost: formatYuan(cost) };
}
