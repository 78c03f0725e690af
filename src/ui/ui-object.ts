import type { AccountSpec, AccountStatus, ClusterAccountSpec } from "../api/v1alpha1/account.ts";
import type { ArtifactStoreSpec } from "../api/v1alpha1/artifact-store.ts";
import type { BillReportStatus } from "../api/v1alpha1/bill-report.ts";
import type { GpuEndpointSpec, GpuEndpointStatus } from "../api/v1alpha1/gpu-endpoint.ts";
import { JOB_RESOURCES } from "../api/v1alpha1/kinds.ts";
import type { MediaBatchSpec, MediaBatchStatus } from "../api/v1alpha1/media-batch.ts";
import type { SpeechJobSpec } from "../api/v1alpha1/speech-job.ts";
import type { VideoJobSpec, VideoJobStatus } from "../api/v1alpha1/video-job.ts";
import type { Job } from "../controllers/jobs/types.ts";
import type { AnyStatus } from "../describe/object-state.ts";
import type { KubeObject, StoredMeta } from "../kube/types.ts";

/** An object of any kind of Mooring, with the fields that the page reads. Which of them exist depends on the kind. */
export type UiObject = KubeObject<UiSpec, UiStatus> & { metadata: StoredMeta };

type UiSpec = Partial<
  Pick<GpuEndpointSpec, "workers" | "policy" | "driftPolicy" | "managementPolicy" | "deletionPolicy">
> &
  Partial<
    Pick<
      SpeechJobSpec,
      "model" | "text" | "textFrom" | "voiceSetting" | "output" | "suspend" | "ttlSecondsAfterFinished"
    >
  > &
  Partial<Pick<VideoJobSpec, "imageToVideo" | "videoToVideo">> &
  Partial<Pick<MediaBatchSpec, "template" | "parallelism">> &
  Partial<Pick<AccountSpec, "baseURL" | "budget">> &
  Partial<Pick<ClusterAccountSpec, "results" | "speech">> & {
    apiKeySecretRef?: AccountSpec["apiKeySecretRef"] & { namespace?: string };
  } & Partial<Pick<ArtifactStoreSpec, "s3" | "volume">> & { image?: string };

type UiStatus = AnyStatus & {
  /** Jobs: an amount. */
  estimatedCost?: GpuEndpointStatus["estimatedCost"] | string;
} & Partial<Pick<GpuEndpointStatus, "state" | "url" | "image" | "workers" | "endpointID" | "remote" | "account">> &
  Partial<
    Pick<
      VideoJobStatus,
      | "model"
      | "progressPercent"
      | "etaSeconds"
      | "results"
      | "reused"
      | "duration"
      | "resultsExpireAt"
      | "consumption"
      | "timeline"
      | "taskID"
      | "remoteStatus"
      | "attempts"
      | "startTime"
      | "submitTime"
      | "completionTime"
      | "nextAttemptTime"
    >
  > &
  Partial<Pick<MediaBatchStatus, "active" | "expectedCost" | "index">> &
  Partial<Pick<AccountStatus, "spend" | "budgets" | "prices">> &
  Partial<
    Pick<
      BillReportStatus,
      "period" | "totals" | "byProduct" | "byCategory" | "byKey" | "byDate" | "split" | "asOf" | "final"
    >
  >;

/** Whether the object is a job of any kind, with the whole spec and status of one. */
export function isJob(kind: string, object: UiObject): object is UiObject & Job {
  return JOB_RESOURCES.some((resource) => resource.kind === kind) && object.metadata.namespace !== undefined;
}
