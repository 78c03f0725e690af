import type { ImageToVideo, VideoJob, VideoToVideo } from "../../api/v1alpha1/video-job.ts";
import type { ImageToVideoBody, VideoToVideoBody } from "../../provider/client.ts";
import { InvalidJobError, type PaidRequest } from "../jobs/types.ts";

/** Model names as the service has them in its paths. */
export function videoModelOf(job: VideoJob): string {
  return job.spec.imageToVideo === undefined ? "vid2.6-v2v" : "vid-i2v";
}

/** The paid request of a VideoJob. @throws InvalidJobError */
export async function videoRequest({ spec }: VideoJob): Promise<PaidRequest> {
  if (spec.imageToVideo !== undefined) {
    const body = imageToVideoBody(spec.imageToVideo);
    return {
      operation: "submitImageToVideo",
      body,
      send: ({ client, options }) => client.submitImageToVideo(body, options),
    };
  }
  if (spec.videoToVideo === undefined)
    throw new InvalidJobError("exactly one of imageToVideo and videoToVideo is required");
  const body = videoToVideoBody(spec.videoToVideo);
  return {
    operation: "submitVideoToVideo",
    body,
    send: ({ client, options }) => client.submitVideoToVideo(body, options),
  };
}

function imageToVideoBody(video: ImageToVideo): ImageToVideoBody {
  return {
    prompt: video.prompt,
    image_url: video.imageURL,
    negative_prompt: video.negativePrompt,
    width: video.width as ImageToVideoBody["width"],
    height: video.height as ImageToVideoBody["height"],
    loras: video.loras,
    seed: video.seed,
    steps: video.steps,
    guidance_scale: video.guidanceScale,
    flow_shift: video.flowShift,
    enable_safety_checker: video.enableSafetyChecker,
    fast_mode: video.fastMode,
    watermark: video.watermark,
  };
}

function videoToVideoBody({ input, parameters }: VideoToVideo): VideoToVideoBody {
  return {
    input: {
      prompt: input.prompt,
      audio_url: input.audioURL,
      reference_urls: input.referenceURLs,
      negative_prompt: input.negativePrompt,
    },
    parameters:
      parameters === undefined
        ? undefined
        : {
            seed: parameters.seed,
            size: parameters.size,
            audio: parameters.audio,
            duration: parameters.duration,
            shot_type: parameters.shotType,
            watermark: parameters.watermark,
            prompt_extend: parameters.promptExtend,
          },
  };
}
