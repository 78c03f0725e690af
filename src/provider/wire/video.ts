import * as z from "zod";
import { characters } from "./rules.ts";

/** Video generation (interface: Video generation). */

export const I2V_SIZES: readonly (readonly [width: number, height: number])[] = [
  [480, 832],
  [832, 480],
  [720, 1280],
  [1280, 720],
];
const SIDES: readonly number[] = [...new Set(I2V_SIZES.flat())];
const side = z.int().refine((pixels) => SIDES.includes(pixels), { error: "must be 480, 720, 832 or 1280" });

/** Body of image-to-video. A lone width or height is allowed: the service then forces 832 x 480. */
export const imageToVideoRequest = z
  .strictObject({
    prompt: characters(1, 2000),
    image_url: z.string().min(1),
    negative_prompt: characters(0, 2000).optional(),
    width: side.optional(),
    height: side.optional(),
    loras: z
      .array(z.strictObject({ path: z.string().min(1), scale: z.number().min(0).max(4) }))
      .max(3)
      .optional(),
    seed: z.int().min(-1).max(9_999_999_999).optional(),
    steps: z.int().min(1).max(40).optional(),
    guidance_scale: z.number().min(0).max(10).optional(),
    flow_shift: z.number().min(1).max(10).optional(),
    enable_safety_checker: z.boolean().optional(),
    fast_mode: z.boolean().optional(),
    watermark: z.boolean().optional(),
  })
  .refine(
    ({ width, height }) =>
      width === undefined || height === undefined || I2V_SIZES.some(([w, h]) => w === width && h === height),
    { path: ["width"], error: "and height must be one of 480x832, 832x480, 720x1280, 1280x720" },
  );

export const V2V_SIZES = [
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

/** Body of video-to-video. Required flags and defaults are not shown, so every field is optional here. */
export const videoToVideoRequest = z.strictObject({
  input: z.strictObject({
    prompt: z.string().optional(),
    audio_url: z.string().optional(),
    reference_urls: z.array(z.string()).optional(),
    negative_prompt: z.string().optional(),
  }),
  parameters: z
    .strictObject({
      seed: z.int().optional(),
      size: z.enum(V2V_SIZES).optional(),
      audio: z.boolean().optional(),
      duration: z.union([z.literal(5), z.literal(10)]).optional(),
      shot_type: z.enum(["single", "multi"]).optional(),
      watermark: z.boolean().optional(),
      prompt_extend: z.boolean().optional(),
    })
    .optional(),
});
