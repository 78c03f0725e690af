import { accountKey } from "../account/registry.ts";
import type { ControllerDeps } from "../controller-deps.ts";
import { type Job, type JobStatus, paidOperation } from "../jobs/types.ts";
import { jobCost, visibleEstimate } from "./cost/object-cost.ts";
import { createdOf } from "./usage.ts";

/**
 * Records what a job consumed, once per attempt: when its status first shows that the service accepted the request.
 * @param kind of the object
 */
export function recordUsage(
  { usage }: Pick<ControllerDeps, "usage">,
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
