import { describe, expect, it } from "vitest";
import { getCondition, MESSAGE_LIMIT } from "../../../../src/api/v1alpha1/conditions.ts";
import type { VideoJob } from "../../../../src/api/v1alpha1/video-job.ts";
import { observeHalted } from "../../../../src/controllers/jobs/halt.ts";
import { stateOf } from "../../../../src/controllers/jobs/observations.ts";
import { observeUnknown } from "../../../../src/controllers/jobs/observe.ts";
import { jobStatusOf } from "../../../../src/controllers/jobs/status.ts";
import { decide } from "../../../../src/controllers/jobs/transitions.ts";
import { attachTaskOf, type JobStatus, resubmitTokenOf } from "../../../../src/controllers/jobs/types.ts";
import { START } from "../../../support/fake-clock.ts";
import { recordOf, speechJobOf, videoJobOf } from "../../../support/jobs.ts";

function jobWith(token: string | undefined, metadata: Partial<VideoJob["metadata"]> = {}): VideoJob {
  const job = videoJobOf("image");
  const annotations = token === undefined ? {} : { "mooring.dev/resubmit-token": token };
  return { ...job, metadata: { ...job.metadata, annotations, ...metadata } };
}

/** The status after a request of the job whose outcome is unknown. */
function halted(job: VideoJob, cause = "the connection was lost"): JobStatus {
  const record = recordOf();
  const context = { job, now: START };
  const observation = observeUnknown({ record }, cause, context);
  const { outcome, ...change } = decide(stateOf(job.status, record, false), observation, context);
  if (outcome === undefined) throw new Error("a halt has an outcome");
  return jobStatusOf(job, change, outcome, START);
}

function observedWith(token: string | undefined, status: JobStatus) {
  const job = { ...jobWith(token), status };
  return observeHalted({ job, now: START }, resubmitTokenOf(job));
}

describe("given a manifest with a resubmit token, when the outcome of its request is unknown", () => {
  it("the job stays halted: the token was there before the halt", () => {
    const status = halted(jobWith("copied"));
    expect(status).toMatchObject({ phase: "Halted", lastHandledResubmitToken: "copied" });
    expect(observedWith("copied", status).kind).toBe("Unreleased");
  });

  it("a new value releases it", () => {
    expect(observedWith("new", halted(jobWith("copied")))).toEqual({ kind: "Released", token: "new" });
    expect(observedWith("first", halted(jobWith(undefined)))).toEqual({ kind: "Released", token: "first" });
  });

  it("the task to attach that was named before the halt counts as handled too", () => {
    const job = jobWith(undefined, { annotations: { "mooring.dev/attach-task": " task-1 " } });
    expect(halted(job)).toMatchObject({ phase: "Halted", lastHandledAttachTask: "task-1" });
    expect(attachTaskOf(job)).toBe("task-1");
    expect(attachTaskOf(jobWith(undefined, { annotations: { "mooring.dev/attach-task": "" } }))).toBeUndefined();
  });

  it("a token that is longer than a status can store does not release it either", () => {
    const long = "t".repeat(2_000);
    const status = halted(jobWith(long));
    expect(status.lastHandledResubmitToken).toHaveLength(1_024);
    expect(observedWith(long, status).kind).toBe("Unreleased");
  });
});

describe("the message of a halted job", () => {
  const messageOf = (status: JobStatus) => getCondition(status.conditions, "Stalled")?.message ?? "";

  it("says when the request was sent, what may have happened, and how to decide, without a command", () => {
    const message = messageOf(halted(jobWith(undefined)));
    expect(message).toContain("sent at 2026-03-01T00:00:00Z");
    expect(message).toContain("(the connection was lost)");
    expect(message).toContain("may have accepted and charged it");
    expect(message).toMatch(
      /To decide, set mooring\.dev\/attach-task to the ID of its task, set mooring\.dev\/resubmit-token to a new value to send it again, which may pay twice, or delete the job$/,
    );
    expect(message).not.toContain("kubectl");
    expect(message.length).toBeLessThan(420);
  });

  it("of a synchronous request offers no task: it has none", () => {
    const job = speechJobOf("turbo");
    const context = { job, now: START };
    const record = recordOf({ operation: "synthesizeSpeech" });
    const observation = observeUnknown({ record }, "c", context);
    const { outcome } = decide({ kind: "Sending", record: recordOf() }, observation, context);
    expect(outcome).toMatchObject({ phase: "Halted", message: expect.not.stringContaining("attach") });
  });

  it("has all ways to decide, however long the cause is", () => {
    const message = messageOf(halted(jobWith(undefined), "x".repeat(5_000)));
    expect(message.length).toBeLessThanOrEqual(MESSAGE_LIMIT);
    expect(message).toContain("mooring.dev/resubmit-token");
    expect(message.endsWith("or delete the job")).toBe(true);
  });
});
