import { isDeepStrictEqual } from "node:util";
import type { GpuEndpointStatus } from "../../api/v1alpha1/gpu-endpoint.ts";
import type { BoundAccount } from "../../api/v1alpha1/meta.ts";
import { rfc3339 } from "../../base/clock.ts";
import { formatYuan } from "../../base/money.ts";
import type { StoredMeta } from "../../kube/types.ts";
import type { Operation } from "../../provider/operations.ts";
import { accountKey } from "../account/registry.ts";
import type { ControllerDeps } from "../controller-deps.ts";
import { type Job, type JobStatus, paidOperation } from "../jobs/types.ts";
import type { CostEstimate } from "./estimates.ts";
import { operationMeter } from "./meters.ts";
import type { UsageRecorder } from "./recorder.ts";
import { createdOf } from "./usage.ts";

/** How long a status shows an estimate, while nothing else in it changes, before a newer one is written. */
export const SHOW_MS = 24 * 3_600_000;

/** `Hidden`: the namespace may not see costs of the account. `Unknown`: there is no estimate yet. */
export type VisibleEstimate = { kind: "Shown"; estimate: CostEstimate } | { kind: "Hidden" } | { kind: "Unknown" };

/**
 * The estimate that a status in a namespace may show: with an Account always, with a ClusterAccount when an entry of
 * spending.reports selects the namespace.
 */
export async function visibleEstimate(
  { accounts, estimates }: Pick<ControllerDeps, "accounts" | "estimates">,
  bound: BoundAccount | undefined,
  namespace: string,
): Promise<VisibleEstimate> {
  if (bound === undefined) return { kind: "Unknown" };
  const key = accountKey(bound.kind, bound.name, namespace);
  const handle = accounts.get(key)?.handle;
  const estimate = estimates.get(key);
  if (handle === undefined || estimate === undefined) return { kind: "Unknown" };
  // The labels of the namespace may be unreadable for a moment, which blocks nothing else.
  const keys = await handle.reportableKeys(namespace).catch(() => undefined);
  if (keys === undefined) return { kind: "Unknown" };
  return keys.kind === "Keys" && keys.keyIDs.length === 0 ? { kind: "Hidden" } : { kind: "Shown", estimate };
}

/**
 * The status of an endpoint with its estimated cost. An estimate alone is written once a day, so that it costs no more writes.
 * Pure; `now`: ms since the epoch.
 */
export function withEndpointCost(
  {
    metadata,
    status: previous,
  }: { metadata: Pick<StoredMeta, "name" | "creationTimestamp"> & { namespace: string }; status?: GpuEndpointStatus },
  status: GpuEndpointStatus,
  visible: VisibleEstimate,
  now: number,
): GpuEndpointStatus {
  const { estimatedCost: shown, ...rest } = status;
  if (visible.kind === "Hidden") return rest;
  if (visible.kind === "Unknown" || status.endpointID === undefined) return status;
  const { estimate } = visible;
  const same =
    previous !== undefined &&
    isDeepStrictEqual({ ...previous, estimatedCost: undefined }, { ...rest, estimatedCost: undefined });
  if (shown !== undefined && same && now - Date.parse(shown.asOf) < SHOW_MS) return status;
  const { namespace, name } = metadata;
  const month = formatYuan(estimate.costOf({ namespace, object: `GpuEndpoint/${name}`, created: createdOf(metadata) }));
  return { ...rest, estimatedCost: { month, asOf: rfc3339(estimate.at) } };
}

/** Whether a bound endpoint shows no estimate, or one that is a day old. */
export function isCostOutdated(status: GpuEndpointStatus | undefined, now: number): boolean {
  if (status?.endpointID === undefined) return false;
  return status.estimatedCost === undefined || now - Date.parse(status.estimatedCost.asOf) >= SHOW_MS;
}

/** What a job cost: all its attempts at the last known price. undefined: not known, or not to be shown. */
export function jobCost(
  visible: VisibleEstimate,
  operation: Operation,
  { quantity, attempts }: { quantity: number; attempts: number },
): string | undefined {
  if (visible.kind !== "Shown") return undefined;
  const cost = visible.estimate.priceOf(operationMeter(operation), quantity * attempts);
  return cost === undefined ? undefined : formatYuan(cost);
}

/**
 * Records what a job consumed, once per attempt: when its status first shows that the service accepted the request.
 * @param kind of the object
 */
export function recordUsage(
  { usage }: { usage: Pick<UsageRecorder, "accepted"> },
  kind: string,
  { before, after }: { before: Job; after: Job },
): void {
  const { submission, consumption, account } = after.status ?? {};
  const known = before.status?.submission;
  const isNew = known?.id !== submission?.id || known?.state !== "Accepted";
  if (submission?.state !== "Accepted" || !isNew || consumption === undefined || account === undefined) return;
  const { namespace, name } = after.metadata;
  usage.accepted({
    account: accountKey(account.kind, account.name, namespace),
    namespace,
    object: `${kind}/${name}`,
    created: createdOf(after.metadata),
    operation: paidOperation(after),
    quantity: consumption.quantity,
  });
}

/** `status.estimatedCost` of a job that ends now. Empty: nothing was charged, or the price is not known or not shown. */
export async function costOf(
  shared: Pick<ControllerDeps, "accounts" | "estimates">,
  job: Job,
  written: Partial<JobStatus> | undefined,
): Promise<Pick<JobStatus, "estimatedCost">> {
  const { submission, consumption, account, attempts = 1 } = { ...job.status, ...written };
  if (submission?.state !== "Accepted" || consumption === undefined) return {};
  const visible = await visibleEstimate(shared, account, job.metadata.namespace);
  const estimatedCost = jobCost(visible, paidOperation(job), { quantity: consumption.quantity, attempts });
  return estimatedCost === undefined ? {} : { estimatedCost };
}
