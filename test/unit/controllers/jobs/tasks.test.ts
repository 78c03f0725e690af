import { describe, expect, it } from "vitest";
import { setConditions } from "../../../../src/api/v1alpha1/conditions.ts";
import type { VideoJobStatus } from "../../../../src/api/v1alpha1/video-job.ts";
import { rfc3339 } from "../../../../src/base/clock.ts";
import { endedTaskOf } from "../../../../src/controllers/jobs/tasks.ts";
import { START } from "../../../support/fake-clock.ts";
import { videoJobOf } from "../../../support/jobs.ts";

const MINUTE_MS = 60_000;
/** The account's status has the tasks that ended more than 400 s ago. */
const SINCE = { now: START, settleMs: 10 * MINUTE_MS, asOf: START - 400_000 };
const at = (agoMs: number) => rfc3339(START - agoMs);
const submission = (state: "Accepted" | "Refused" | "Unknown", agoMs: number) => ({
  id: "i",
  specHash: "0",
  attempt: 1,
  state,
  time: at(agoMs),
});
const ended = (status: Partial<VideoJobStatus>) =>
  endedTaskOf(videoJobOf("image", {}, { conditions: [], ...status }), SINCE);
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
    expect(ended(status)).toEqual({ operation: "submitImageToVideo", end, agoMs, lenient: true });
  });

  it.each<[string, Partial<VideoJobStatus>]>([
    ["nothing was sent", { phase: "Pending" }],
    ["it was refused", { phase: "Failed", submission: submission("Refused", 0), completionTime: at(0) }],
    ["its task runs: it has a place", { phase: "Running", submission: submission("Accepted", 0) }],
    [
      "the account's status has it",
      { phase: "Succeeded", submission: submission("Accepted", 900_000), completionTime: at(401_000) },
    ],
  ])("%s: nothing", (_name, status) => {
    expect(ended(status)).toBeUndefined();
  });

  it.each([
    ["Succeeded", "Accepted", 10],
    ["Halted", "Unknown", 25],
  ] as const)(
    "%s: until billing.settleTime is over, and 15 minutes more when its end was not seen",
    (phase, state, minutes) => {
      const reserves = (agoMs: number) => {
        const status = { conditions: [], phase, submission: submission(state, agoMs) };
        return endedTaskOf(videoJobOf("image", {}, status), { ...SINCE, asOf: 0 }) !== undefined;
      };
      expect([reserves(minutes * MINUTE_MS), reserves(minutes * MINUTE_MS + 1_000)]).toEqual([true, false]);
    },
  );
});
