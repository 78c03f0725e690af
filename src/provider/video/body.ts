/** A field that is left out is not sent, so the service's default applies. */
export type ImageToVideoRequest = {
  prompt: string;
  imageURL: string;
  negativePrompt?: string | undefined;
  /** Pixels; with height one of 480x832, 832x480, 720x1280, 1280x720. */
  width?: number | undefined;
  height?: number | undefined;
  loras?: { path: string; scale: number }[] | undefined;
  seed?: number | undefined;
  steps?: number | undefined;
  guidanceScale?: number | undefined;
  flowShift?: number | undefined;
  enableSafetyChecker?: boolean | undefined;
  fastMode?: boolean | undefined;
  watermark?: boolean | undefined;
};

export type VideoToVideoRequest = {
  input: {
    prompt?: string | undefined;
    audioURL?: string | undefined;
    referenceURLs?: string[] | undefined;
    negativePrompt?: string | undefined;
  };
  parameters?:
    | {
        seed?: number | undefined;
        size?: string | undefined;
        audio?: boolean | undefined;
        /** Seconds. */
        duration?: 5 | 10 | undefined;
        shotType?: "single" | "multi" | undefined;
        watermark?: boolean | undefined;
        promptExtend?: boolean | undefined;
      }
    | undefined;
};

export function imageToVideoBody(request: ImageToVideoRequest) {
  return {
    prompt: request.prompt,
    image_url: request.imageURL,
    negative_prompt: request.negativePrompt,
    width: request.width,
    height: request.height,
    loras: request.loras,
    seed: request.seed,
    steps: request.steps,
    guidance_scale: request.guidanceScale,
    flow_shift: request.flowShift,
    enable_safety_checker: request.enableSafetyChecker,
    fast_mode: request.fastMode,
    watermark: request.watermark,
  };
}

export function videoToVideoBody({ input, parameters }: VideoToVideoRequest) {
  return {
    input: {
      prompt: input.prompt,
      audio_url: input.audioURL,
      reference_urls: input.referenceURLs,
      negative_prompt: input.negativePrompt,
    },
    parameters: parameters && {
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
