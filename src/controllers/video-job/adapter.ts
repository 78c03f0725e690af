import type { VideoJob } from "../../api/v1alpha1/video-job.ts";
import type { JobAdapter } from "../jobs/types.ts";
import type { Kind } from "../shared.ts";
import { videoModelOf, videoRequest } from "./request.ts";

export function videoJobAdapter(kind: Kind<VideoJob>): JobAdapter<VideoJob> {
  return {
    kind,
    prepare: videoRequest,
    typeOfBytes: () => undefined,
    extraStatus: (job) => ({ model: videoModelOf(job) }),
  };
}
