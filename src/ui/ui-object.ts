import type { AccountSpec, AccountStatus, ClusterAccountSpec } from "../api/v1alpha1/account.ts";
import type { ArtifactStoreSpec } from "../api/v1alpha1/artifact-store.ts";
import type { BillReportStatus } from "../api/v1alpha1/bill-report.ts";
import type { GpuEndpointSpec, GpuEndpointStatus } from "../api/v1alpha1/gpu-endpoint.ts";
import type { SpeechJobSpec } from "../api/v1alpha1/speech-job.ts";
import type { VideoJobStatus } from "../api/v1alpha1/video-job.ts";
import type { AnyStatus } from "../describe/object-state.ts";
import type { KubeObject, StoredMeta } from "../kube/types.ts";

/** An object of any kind of Mooring, with the fields that the page reads. Which of them exist depends on the kind. */
export type UiObject = KubeObject<UiSpec, UiStatus> & { metadata: StoredMeta };

type UiSpec = Partial<Pick<GpuEndpointSpec, "workers" | "policy" | "driftPolicy" | "managementPolicy">> &
  Partial<Pick<SpeechJobSpec, "model" | "output" | "suspend">> &
  Partial<Pick<AccountSpec, "baseURL" | "budget">> &
  Partial<Pick<ClusterAccountSpec, "results">> &
  Partial<Pick<ArtifactStoreSpec, "s3" | "volume">> & { image?: string };

type UiStatus = AnyStatus &
  Partial<Pick<GpuEndpointStatus, "state" | "url" | "image" | "workers" | "endpointID" | "remote" | "account">> &
  Partial<
    Pick<
      VideoJobStatus,
      | "model"
      | "progressPercent"
      | "etaSeconds"
      | "results"
      | "duration"
      | "taskID"
      | "remoteStatus"
      | "attempts"
      | "startTime"
      | "submitTime"
      | "completionTime"
      | "nextAttemptTime"
    >
  > &
  Partial<Pick<AccountStatus, "spend" | "budgets">> &
  Partial<
    Pick<BillReportStatus, "period" | "totals" | "byProduct" | "byCategory" | "byKey" | "byDate" | "asOf" | "final">
  >;
