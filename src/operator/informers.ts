import type { Account, ClusterAccount } from "../api/v1alpha1/account.ts";
import type { ArtifactStore } from "../api/v1alpha1/artifact-store.ts";
import type { BillReport } from "../api/v1alpha1/bill-report.ts";
import type { GpuEndpoint } from "../api/v1alpha1/gpu-endpoint.ts";
import {
  accountResource,
  artifactStoreResource,
  billReportResource,
  clusterAccountResource,
  gpuEndpointResource,
  speechJobResource,
  videoJobResource,
} from "../api/v1alpha1/kinds.ts";
import type { SpeechJob } from "../api/v1alpha1/speech-job.ts";
import type { VideoJob } from "../api/v1alpha1/video-job.ts";
import { byAccount } from "../controllers/account/dependants.ts";
import { storeKey } from "../controllers/artifact-store/registry.ts";
import { claimIndexers } from "../controllers/gpu-endpoint/claims.ts";
import type { Resource } from "../kube/resource.ts";
import type { KubeObject } from "../kube/types.ts";
import { createInformer, type Informer } from "../runtime/informer.ts";
import type { Indexer } from "../runtime/store.ts";

/** An informer of each kind, with the indexes that lead from what changes to the objects that it concerns. */
export type Informers = {
  accounts: Informer<Account>;
  clusterAccounts: Informer<ClusterAccount>;
  artifactStores: Informer<ArtifactStore>;
  endpoints: Informer<GpuEndpoint>;
  speechJobs: Informer<SpeechJob>;
  videoJobs: Informer<VideoJob>;
  billReports: Informer<BillReport>;
};

export type InformerOptions = Omit<Parameters<typeof createInformer>[0], "resource" | "indexers"> & {
  /** UID of the namespace kube-system: a part of generated app names. */
  clusterUID: string;
};

/** In the order in which they are started: what others refer to comes first. Starts nothing. */
export function createInformers({ clusterUID, ...options }: InformerOptions): Informers {
  const informer = <T extends KubeObject>(resource: Resource, indexers: Record<string, Indexer<T>> = {}): Informer<T> =>
    createInformer<T>({ ...options, resource, indexers });
  return {
    accounts: informer(accountResource),
    clusterAccounts: informer(clusterAccountResource),
    artifactStores: informer(artifactStoreResource),
    endpoints: informer<GpuEndpoint>(gpuEndpointResource, {
      account: byAccount,
      ...claimIndexers(clusterUID),
    }),
    speechJobs: informer<SpeechJob>(speechJobResource, { account: byAccount, task: byTask, artifacts: byStore }),
    videoJobs: informer<VideoJob>(videoJobResource, { account: byAccount, task: byTask, artifacts: byStore }),
    billReports: informer<BillReport>(billReportResource, { account: byAccount, artifacts: byStore }),
  };
}

const byTask: Indexer<SpeechJob | VideoJob> = ({ status }) => (status?.taskID === undefined ? [] : [status.taskID]);

/** ArtifactStores that an object writes to. */
const byStore: Indexer<KubeObject<{ output?: { storeRef: { name: string } } | undefined }>> = ({ metadata, spec }) =>
  spec.output === undefined ? [] : [storeKey(metadata.namespace ?? "", spec.output.storeRef.name)];
