import { mediaBatchResource } from "../../api/v1alpha1/kinds.ts";
import { API_VERSION } from "../../api/v1alpha1/meta.ts";
import type { ObjectMeta } from "../../kube/types.ts";

/** The batch of a job, and the index of the job in it. Undefined: no batch made it. */
export function batchOf({
  name,
  ownerReferences,
}: ObjectMeta): { uid: string; name: string; index: number } | undefined {
  const owner = ownerReferences?.find(({ controller }) => controller === true);
  if (owner?.kind !== mediaBatchResource.kind || owner.apiVersion !== API_VERSION) return undefined;
  const index = /^(0|[1-9]\d{0,4})$/.exec(name.slice(owner.name.length + 1))?.[0];
  if (index === undefined || !name.startsWith(`${owner.name}-`)) return undefined;
  return { uid: owner.uid, name: owner.name, index: Number(index) };
}

/** How long a wait or a request of a job of a batch lasts before the status shows it, ms. */
const SHOW_OF_BATCH_MS = 60_000;
/** The same for other jobs. Most take less. */
export const SHOW_SENDING_AFTER_MS = 1_500;

/**
 * Whether a job is one of many: each write and event of it counts as often as its batch has items. Its status shows the record of its
 * request, its task or results that only the response had, what needs a user, and its end. It shows neither the progress of its task nor that
 * results of a task are being copied, and has no finalizer.
 */
export function isOfBatch({ metadata }: { metadata: ObjectMeta }): boolean {
  return batchOf(metadata) !== undefined;
}

/** How long a wait or a request lasts before the status shows it, ms. */
export function shownAfterMs(job: { metadata: ObjectMeta }): number {
  return isOfBatch(job) ? SHOW_OF_BATCH_MS : SHOW_SENDING_AFTER_MS;
}
