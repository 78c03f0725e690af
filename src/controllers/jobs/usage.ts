import { accountKey } from "../account/registry.ts";
import type { ControllerDeps } from "../controller-deps.ts";
import { type Job, paidOperation } from "./job-kinds.ts";

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
    operation: paidOperation(after),
    quantity: consumption.quantity,
  });
}
