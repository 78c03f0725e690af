import { mediaBatchResource, speechJobResource, videoJobResource } from "../../api/v1alpha1/kinds.ts";
import { BATCH_FIELDS, type MediaBatch } from "../../api/v1alpha1/media-batch.ts";
import { API_VERSION } from "../../api/v1alpha1/meta.ts";
import { controllerReference, type Resource } from "../../kube/resource.ts";
import type { KubeObject } from "../../kube/types.ts";
import type { Job } from "../jobs/types.ts";
import { type Item, mergeItem } from "./items.ts";
import type { ChildState } from "./plan.ts";

/** Label of the jobs of a batch: its name. */
export const BATCH_LABEL = "mooring.dev/batch";
/** The results go to a store anyway: without a copy from a URL, the job writes to the API server once less. */
const BYTES_IN_RESPONSE = { outputFormat: "hex" };
/** The only model with a choice. */
const TURBO = "speech-2.6-turbo";
/** Digits of an index in the name of a result. */
const DIGITS = 6;

/** The kind of the jobs of a batch. */
export function jobResourceOf({ spec }: Pick<MediaBatch, "spec">): Resource {
  return spec.template.speech === undefined ? videoJobResource : speechJobResource;
}

export function childName(batch: string, index: number): string {
  return `${batch}-${index}`;
}

/** The name of the results of an item. */
export function resultName({ name, index }: Pick<Item, "name" | "index">): string {
  return name ?? String(index).padStart(DIGITS, "0");
}

/** Why an item cannot be merged: it sets what the batch sets. Undefined: it can. */
export function reservedField({ patch }: Item): string | undefined {
  const field = Object.keys(patch).find((one) => one in BATCH_FIELDS);
  return (
    field && `${field} cannot differ between items: remove it, and set it in the spec of the batch if it has the field`
  );
}

/** The manifest of the job of an item. It is the same each time. */
export function childOf(batch: MediaBatch, item: Item): KubeObject<Record<string, unknown>> {
  const { name, namespace } = batch.metadata;
  const { template, output, backoffLimitPerIndex, reuse } = batch.spec;
  const { account } = batch.status ?? {};
  const accountRef = batch.spec.accountRef ?? (account && { kind: account.kind, name: account.name });
  const merged = mergeItem({ ...(template.speech ?? template.video) }, item.patch);
  return {
    apiVersion: API_VERSION,
    kind: jobResourceOf(batch).kind,
    metadata: {
      namespace,
      name: childName(name, item.index),
      labels: { [BATCH_LABEL]: name },
      ownerReferences: [controllerReference(mediaBatchResource, batch.metadata)],
    },
    spec: {
      ...(merged["model"] === TURBO ? BYTES_IN_RESPONSE : {}),
      ...merged,
      ...(accountRef === undefined ? {} : { accountRef }),
      backoffLimit: backoffLimitPerIndex,
      output: { storeRef: output.storeRef, prefix: output.keyPrefix, name: resultName(item) },
      ...(reuse === undefined ? {} : { reuse }),
    },
  };
}

export function childState({ metadata, status }: Job): ChildState {
  const phase = status?.phase;
  if (phase === "Succeeded" || phase === "Failed") return phase;
  if (metadata.deletionTimestamp !== undefined) return "Unfinished";
  return phase === "Halted" ? "Halted" : "Unfinished";
}

export function hasEnded({ status }: Job): boolean {
  return status?.phase === "Succeeded" || status?.phase === "Failed";
}

/** The service cannot have got a request for the job. */
export function sentNothing({ status }: Job): boolean {
  const { phase = "Pending", submission, attempts = 0 } = status ?? {};
  return phase === "Pending" && attempts === 0 && (submission === undefined || submission.state === "NotSent");
}
