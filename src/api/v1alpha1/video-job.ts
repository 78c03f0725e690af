import * as z from "zod";
import type { NamespacedObject } from "../../kube/types.ts";
import { flag, httpUrl, int, listOf, text } from "../schema/fields.ts";
import { ruled } from "../schema/rule.ts";
import { commonJobSpec, commonJobStatus, jobTransitions, REUSE_RULE } from "./job.ts";
import { PENDING_STATUS } from "./meta.ts";

const pairs = ["480x832", "832x480", "720x1280", "1280x720"] as const;

const loraSchema = z.object({
  path: text(2048, "Model name of a model hub, or download URL; must fit the underlying 14B image-to-video model."),
  scale: z.number().min(0).max(4).describe("Strength, 0 to 4."),
});

// By a rule, not by maxItems alone: the API server answers a rule with one line of ours.
const lorasSchema = ruled(listOf(loraSchema, 8, "LoRA weights, at most 3."), [
  {
    cel: "self.size() <= 3",
    message: "loras must have at most 3 items: remove some",
    holds: (loras) => loras.length <= 3,
  },
]);

/** Without the rules between them. */
export const imageToVideoFields = z.object({
  prompt: text(2000, "What the video shows, 1 to 2000 characters."),
  imageURL: httpUrl("URL of the input image.", "imageURL"),
  negativePrompt: text(2000, "What the video must not show, at most 2000 characters.", 0).optional(),
  width: int(1, "Pixels; only with height, as one of 480x832, 832x480, 720x1280, 1280x720. Default 832.").optional(),
  height: int(1, "Pixels; only with width. Default 480.").optional(),
  loras: lorasSchema.optional(),
  seed: z.int().min(-1).max(9_999_999_999).describe("-1 (random) to 9999999999. Default -1.").optional(),
  steps: int(1, "Inference steps, 1 to 40. Default 30.", 40).optional(),
  guidanceScale: z.number().min(0).max(10).describe("Adherence to the prompt, 0 to 10. Default 5.").optional(),
  flowShift: z.number().min(1).max(10).describe("1 to 10; higher gives faster, larger motion. Default 5.").optional(),
  enableSafetyChecker: flag("Check the content. Default true.").optional(),
  fastMode: flag("Faster, may lower quality and price. Default false.").optional(),
  watermark: flag("Add a text watermark that marks AI generation. Default false.").optional(),
});

const imageToVideoSchema = ruled(imageToVideoFields, [
  {
    cel: "has(self.width) == has(self.height)",
    message: "width and height go together: set both, as one of 480x832, 832x480, 720x1280, 1280x720, or neither",
    holds: ({ width, height }) => (width === undefined) === (height === undefined),
  },
  {
    cel: `!has(self.width) || !has(self.height) || ${pairs.map((pair) => `(self.width == ${pair.replace("x", " && self.height == ")})`).join(" || ")}`,
    message: `width x height must be one of ${pairs.join(", ")}: choose one, or set neither`,
    holds: ({ width, height }) =>
      width === undefined || height === undefined || pairs.some((pair) => pair === `${width}x${height}`),
  },
]).describe("Generate a video from an image (model vid-i2v); 5 seconds long.");

export const videoSizes = [
  "1280*720",
  "720*1280",
  "960*960",
  "1088*832",
  "832*1088",
  "1920*1080",
  "1080*1920",
  "1440*1440",
  "1632*1248",
  "1248*1632",
] as const;

const videoToVideoSchema = z
  .object({
    input: z
      .object({
        prompt: text(10_000, "What the video shows.").optional(),
        audioURL: httpUrl("URL of the audio.", "audioURL").optional(),
        referenceURLs: listOf(
          httpUrl("URL of a reference video.", "referenceURLs"),
          16,
          "URLs of the reference videos.",
        ).optional(),
        negativePrompt: text(10_000, "What the video must not show.", 0).optional(),
      })
      .describe("What the video is made from."),
    parameters: z
      .object({
        seed: z.int().describe("Seed.").optional(),
        size: z.enum(videoSizes).describe("Width*height in pixels, one of the ten listed.").optional(),
        audio: flag("Whether the video has audio.").optional(),
        duration: z.literal([5, 10]).describe("Seconds, 5 or 10.").optional(),
        shotType: z.enum(["single", "multi"]).describe("single or multi.").optional(),
        watermark: flag("Add a watermark.").optional(),
        promptExtend: flag("Let the service extend the prompt.").optional(),
      })
      .describe("How the video is made.")
      .optional(),
  })
  .describe("Generate a video from reference videos (model vid2.6-v2v).");

/** Without the rules between them. */
export const videoJobFields = z.object({
  ...commonJobSpec,
  imageToVideo: imageToVideoSchema.optional(),
  videoToVideo: videoToVideoSchema.optional(),
});

export const videoJobSpecSchema = ruled(
  videoJobFields,
  [
    {
      cel: "has(self.imageToVideo) != has(self.videoToVideo)",
      message: "exactly one of imageToVideo and videoToVideo is required: set one, remove the other",
      holds: ({ imageToVideo, videoToVideo }) => (imageToVideo === undefined) !== (videoToVideo === undefined),
    },
    REUSE_RULE,
  ],
  jobTransitions("VideoJob", videoJobFields),
).describe("The video to generate. Immutable except suspend, ttlSecondsAfterFinished and activeDeadlineSeconds.");
export type VideoJobSpec = z.output<typeof videoJobSpecSchema>;

export const videoJobStatusSchema = z
  .object({
    ...commonJobStatus,
    model: text(64, "The model that runs the job: vid-i2v or vid2.6-v2v.", 0).optional(),
  })
  .default(PENDING_STATUS)
  .describe("Progress and results of the job.");
export type VideoJobStatus = z.output<typeof videoJobStatusSchema>;

export type VideoJob = NamespacedObject<VideoJobSpec, VideoJobStatus>;
