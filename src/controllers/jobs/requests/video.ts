import type { VideoJob } from "../../../api/v1alpha1/video-job.ts";
import type { Kind } from "../../controller-deps.ts";
import { InvalidJobError, type JobAdapter, type PaidRequest } from "../types.ts";

export function videoJobAdapter(kind: Kind<VideoJob>): JobAdapter<VideoJob> {
  return {
    kind,
    prepare: videoRequest,
    references: () => [],
    secrets: async () => [],
    typeOfBytes: () => undefined,
    extraStatus: (job) => ({ model: videoModelOf(job) }),
  };
}

/** Removes the texts of the request from the copy of a finished job: nothing sends it again. */
export function dropVideoTexts({ spec: { imageToVideo, videoToVideo } }: VideoJob): void {
  if (imageToVideo !== undefined) {
    imageToVideo.prompt = "";
    delete imageToVideo.negativePrompt;
  }
  if (videoToVideo !== undefined) videoToVideo.input = {};
}

/** `status.model`. */
export function videoModelOf(job: VideoJob): string {
  return job.spec.imageToVideo === undefined ? "vid2.6-v2v" : "vid-i2v";
}

/** Length of a video whose request names none (interface: "default video length 5 seconds"). */
const DEFAULT_SECONDS = 5;

/** The paid request of a VideoJob. @throws InvalidJobError */
export async function videoRequest({ spec }: VideoJob): Promise<PaidRequest> {
  const { imageToVideo, videoToVideo } = spec;
  if (imageToVideo !== undefined) {
    return {
      operation: "submitImageToVideo",
      consumption: { unit: "Seconds", quantity: DEFAULT_SECONDS },
      body: imageToVideo,
      send: ({ session, options }) => session.video.imageToVideo(imageToVideo, options),
    };
  }
  if (videoToVideo === undefined) {
    throw new InvalidJobError("exactly one of imageToVideo and videoToVideo is required");
  }
  return {
    operation: "submitVideoToVideo",
    consumption: { unit: "Seconds", quantity: videoToVideo.parameters?.duration ?? DEFAULT_SECONDS },
    body: videoToVideo,
    send: ({ session, options }) => session.video.videoToVideo(videoToVideo, options),
  };
}
