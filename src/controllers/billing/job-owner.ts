import { mediaBatchResource } from "../../api/v1alpha1/kinds.ts";
import type { MediaBatch } from "../../api/v1alpha1/media-batch.ts";
import type { NamespacedObject } from "../../kube/types.ts";
import type { Store } from "../../runtime/store.ts";
import { batchOf } from "../jobs/batch-owner.ts";
import { createdOf, type Usage } from "./usage.ts";

/** The object that uses something. */
export type Owner = Pick<Usage, "namespace" | "object" | "created">;

/** What the usage of a job counts for: its batch, so that a large batch has one row, or the job itself. `kind`: of the job. */
export function ownerOfJob(
  batches: Pick<Store<MediaBatch>, "get">,
  kind: string,
  { metadata }: Pick<NamespacedObject, "metadata">,
): Owner {
  const { namespace, name } = metadata;
  const of = batchOf(metadata);
  const batch = of && batches.get(`${namespace}/${of.name}`);
  if (batch === undefined || batch.metadata.uid !== of?.uid) {
    return { namespace, object: `${kind}/${name}`, created: createdOf(metadata) };
  }
  return { namespace, object: `${mediaBatchResource.kind}/${of.name}`, created: createdOf(batch.metadata) };
}
