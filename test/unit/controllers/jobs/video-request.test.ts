import { expect, it } from "vitest";
import { videoRequest } from "../../../../src/controllers/jobs/requests/video.ts";
import { videoJobOf } from "../../../support/jobs.ts";
import { NOTHING_READ } from "../../../support/shared.ts";

it.each([
  { variant: "image", change: {}, operation: "submitImageToVideo", seconds: 5 },
  { variant: "reference", change: {}, operation: "submitVideoToVideo", seconds: 5 },
] as const)(
  "a video of $variant whose request names no length counts $seconds seconds",
  async ({ variant, change, operation, seconds }) => {
    const request = await videoRequest(videoJobOf(variant, change), NOTHING_READ);
    expect(request).toMatchObject({ operation, consumption: { unit: "Seconds", quantity: seconds } });
  },
);
