import * as z from "zod";
import type { NamespacedObject } from "../../kube/types.ts";
import { flag, httpUrl, int, listOf, objectName, text } from "../schema/fields.ts";
import { ruled } from "../schema/rule.ts";
import { commonJobSpec, commonJobStatus, jobTransitions, REUSE_RULE } from "./job.ts";
import { PENDING_STATUS, storeObjectRef } from "./meta.ts";
import type { SpeechJob } from "./speech-job.ts";

/** The kinds whose results another job can take. */
const sourceKinds = ["SpeechJob", "VideoJob"] as const;

/** Input of a job: an object of a bucket. `field`: as the messages call it. */
function objectInput(field: string, description: string) {
  const object = storeObjectRef(`${field}.object.key`).describe(
    "An object of an ArtifactStore in a bucket. The service gets a URL that is signed when the request is sent and valid for 24 hours.",
  );
  return z.object({ object }).describe(description);
}

/** Input of a job: an object of a bucket, or the result of another job. `field`: as the messages call it. */
function resultInput(field: string, description: string) {
  const jobRef = z
    .object({
      kind: z.enum(sourceKinds).describe("SpeechJob or VideoJob."),
      name: objectName("Name of the job."),
    })
    .describe(
      "Another job in the namespace of this object, whose result is taken. This job waits until that one has succeeded.",
    );
  return ruled(z.object({ object: objectInput(field, "").shape.object.optional(), jobRef: jobRef.optional() }), [
    {
      cel: "has(self.object) != has(self.jobRef)",
      message: `${field} needs exactly one of object and jobRef: set one, remove the other`,
      holds: ({ object, jobRef }) => (object === undefined) !== (jobRef === undefined),
    },
  ]).describe(description);
}

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
  imageURL: httpUrl(
    "URL of the input image; exactly one of imageURL and imageFrom is required.",
    "imageURL",
  ).optional(),
  imageFrom: objectInput("imageFrom", "The input image, in place of imageURL.").optional(),
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
    cel: "has(self.imageURL) != has(self.imageFrom)",
    message: "exactly one of imageURL and imageFrom is required: set one, remove the other",
    holds: ({ imageURL, imageFrom }) => (imageURL === undefined) !== (imageFrom === undefined),
  },
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

const inputSchema = ruled(
  z.object({
    prompt: text(10_000, "What the video shows.").optional(),
    audioURL: httpUrl("URL of the audio; audioFrom can replace it.", "audioURL").optional(),
    audioFrom: resultInput(
      "audioFrom",
      "The audio, in place of audioURL: an object of a bucket, or the result of another job.",
    ).optional(),
    referenceURLs: listOf(
      httpUrl("URL of a reference video.", "referenceURLs"),
      16,
      "URLs of the reference videos.",
    ).optional(),
    negativePrompt: text(10_000, "What the video must not show.", 0).optional(),
  }),
  [
    {
      cel: "!has(self.audioURL) || !has(self.audioFrom)",
      message: "at most one of audioURL and audioFrom can be set: remove one",
      holds: ({ audioURL, audioFrom }) => audioURL === undefined || audioFrom === undefined,
    },
  ],
).describe("What the video is made from.");

const videoToVideoSchema = z
  .object({
    input: inputSchema,
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

/** The jobs whose results `audioFrom` can take. */
export type SourceJob = SpeechJob | VideoJob;
export type AudioFrom = NonNullable<NonNullable<VideoJobSpec["videoToVideo"]>["input"]["audioFrom"]>;
/** A job in the namespace of the job that takes its result. */
export type JobRef = NonNullable<AudioFrom["jobRef"]>;
