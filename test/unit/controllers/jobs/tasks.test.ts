import { describe, expect, it } from "vitest";
import { setConditions } from "../../../../src/api/v1alpha1/conditions.ts";
import type { VideoJobStatus } from "../../../../src/api/v1alpha1/video-job.ts";
import { rfc3339 } from "../../../../src/clock.ts";
import { endedWorkOf } from "../../../../src/controllers/jobs/tasks.ts";
import { workOf } from "../../../../src/controllers/jobs/types.ts";
import { START } from "../../../support/fake-clock.ts";
import { videoJobOf } from "../../../support/jobs.ts";

const MINUTE_MS = 60_000;
const at = (agoMs: number) => rfc3339(START - agoMs);
const submission = (state: "Accepted" | "Refused" | "Unknown", agoMs: number) => ({
  id: "i",
  specHash: "0",
  attempt: 1,
  state,
  time: at(agoMs),
});
const ended = (status: Partial<VideoJobStatus>) =>
  endedWorkOf(videoJobOf("image", {}, { conditions: [], ...status }), START);
const late = setConditions(
  [],
  [{ type: "Failed", status: "True", reason: "DeadlineExceeded", message: "" }],
  at(MINUTE_MS),
);

describe("what a job reserves after a restart", () => {
  it.each<[string, Partial<VideoJobStatus>, "Seen" | "Unseen", number]>([
    [
      "it has just succeeded",
      { phase: "Succeeded", submission: submission("Accepted", 300_000), completionTime: at(30_000) },
      "Seen",
      30_000,
    ],
    ["its results are being copied", { phase: "Storing", submission: submission("Accepted", 300_000) }, "Seen", 0],
    ["it is halted", { phase: "Halted", submission: submission("Unknown", 300_000) }, "Unseen", 300_000],
    ["it is sent again", { phase: "Pending", submission: submission("Unknown", 10_000) }, "Unseen", 10_000],
    [
      "it has failed by its deadline",
      { phase: "Failed", submission: submission("Accepted", 0), completionTime: at(300_000), conditions: late },
      "Unseen",
      300_000,
    ],
  ])("%s: its cost", (_name, status, end, agoMs) => {
    expect(ended(status)).toEqual({ work: workOf(videoJobOf("image")), end, agoMs });
  });

  it.each<[string, Partial<VideoJobStatus>]>([
    ["nothing was sent", { phase: "Pending" }],
    ["it was refused", { phase: "Failed", submission: submission("Refused", 0), completionTime: at(0) }],
    ["its task runs: it has a place", { phase: "Running", submission: submission("Accepted", 0) }],
    [
      "its charge has had its time",
      { phase: "Succeeded", submission: submission("Accepted", 300_000), completionTime: at(61_000) },
    ],
    ["so has that of an unknown outcome", { phase: "Halted", submission: submission("Unknown", 16 * MINUTE_MS) }],
  ])("%s: nothing", (_name, status) => {
    expect(ended(status)).toBeUndefined();
  });
});
