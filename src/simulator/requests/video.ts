import * as z from "zod";
import { text } from "./fields.ts";

/** Bodies of both video operations (interface: Video generation). */

const I2V_PAIRS = ["480x832", "832x480", "720x1280", "1280x720"];
const V2V_SIZES = [
  ...["1280*720", "720*1280", "960*960", "1088*832", "832*1088"],
  ...["1920*1080", "1080*1920", "1440*1440", "1632*1248", "1248*1632"],
];

export const imageToVideoBody = z
  .strictObject({
    prompt: text(1, 2000),
    // Assumption: an empty string does not satisfy "required".
    image_url: z.string().min(1, "is required"),
    negative_prompt: text(0, 2000).optional(),
    width: z.literal([480, 720, 832, 1280]).optional(),
    height: z.int().optional(),
    loras: z
      .array(z.strictObject({ path: z.string(), scale: z.number().min(0).max(4) }))
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
  // Interface: without width or height, the service forces both to 832 and 480.
  .refine(
    ({ width, height }) => width === undefined || height === undefined || I2V_PAIRS.includes(`${width}x${height}`),
    { path: ["height"], error: `and width must be one of ${I2V_PAIRS.join(", ")}` },
  );

/** The interface shows no required fields, defaults or bounds. `videoToVideoRequires` sets the required fields. */
export const videoToVideoBody = z.strictObject({
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
      duration: z.literal([5, 10]).optional(),
      shot_type: z.enum(["single", "multi"]).optional(),
      watermark: z.boolean().optional(),
      prompt_extend: z.boolean().optional(),
    })
    .optional(),
});
