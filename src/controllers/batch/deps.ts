import type { MediaBatch } from "../../api/v1alpha1/media-batch.ts";
import type { Resource } from "../../kube/resource.ts";
import type { AccountHandle } from "../account/registry.ts";
import type { StoreRegistry } from "../artifact-store/registry.ts";
import type { ControllerDeps, Kind } from "../controller-deps.ts";
import type { Job } from "../jobs/types.ts";
import type { WholeObjects } from "../whole-object.ts";

export type BatchWiring = {
  stores: Pick<StoreRegistry, "resolve">;
  /** The jobs in the store that a batch with this UID made. */
  jobsOf(batchUID: string): Job[];
  /** Reconciles an object again. */
  enqueue(resource: Pick<Resource, "plural">, key: string): void;
  /** Gives other work a turn; undefined: not now. */
  turn: () => Promise<void> | undefined;
};

/** What every step of a reconcile works with. */
export type BatchDeps = BatchWiring & {
  shared: ControllerDeps;
  kind: Kind<MediaBatch>;
  wholes: WholeObjects<MediaBatch>;
};

/** A reconcile of one batch whose account and store can be used. */
export type BatchContext = { batch: MediaBatch; account: AccountHandle; signal: AbortSignal };
