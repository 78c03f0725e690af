import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { getCondition } from "../../../../src/api/v1alpha1/conditions.ts";
import { PENDING_STATUS } from "../../../../src/api/v1alpha1/meta.ts";
import { publicOnly } from "../../../../src/base/address-guard.ts";
import { expiryOf } from "../../../../src/controllers/jobs/finished.ts";
import type { JobOutcome } from "../../../../src/controllers/jobs/status.ts";
import { jobResults, resultsFrom } from "../../../../src/controllers/jobs/tasks.ts";
import type { JobStatus } from "../../../../src/controllers/jobs/types.ts";
import { taskResultFrom } from "../../../../src/provider/tasks/task-result.ts";
import { START } from "../../../support/fake-clock.ts";
import { active, halted, JOB_STATES, jobAfter, results, running, stored, wait } from "../../../support/golden/jobs.ts";
import { taskOf, video } from "../../../support/jobs.ts";
import { contractBreach, kstatusOf, shown, shows } from "../../../support/kstatus.ts";

const early = "2026-02-28T23:00:00Z";
const now = "2026-03-01T00:00:00Z";

describe("a job", () => {
  it.each(JOB_STATES)("%s", (_name, before, outcome, expected, spec) => {
    const after = jobAfter(before, outcome, spec);
    expect(`${after.status.phase}, ${shows(after)}`).toBe(expected);
    expect(contractBreach(after.status.conditions)).toBe("");
  });

  it("keeps the contract whatever the order of outcomes", () => {
    const outcomes = fc.constantFrom<JobOutcome>(
      { ...wait, stalled: false },
      { ...wait, stalled: true },
      { phase: "Suspended" },
      { phase: "Halted", reason: "SubmissionUnknown", message: "" },
      active(undefined),
      active("TASK_STATUS_PROCESSING"),
      { phase: "Submitting" },
      { phase: "Storing", result: undefined, results, reason: "Storing", message: "", stalled: false },
      { phase: "Storing", result: undefined, results, reason: "StoreNotReady", message: "", stalled: true },
      { phase: "Succeeded", result: undefined, results },
      { phase: "Failed", reason: "NoResult", message: "", result: undefined },
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(outcomes, fc.boolean()), { minLength: 1, maxLength: 6 }), (steps) => {
        let status: JobStatus = PENDING_STATUS;
        for (const [outcome, suspend] of steps) status = jobAfter(status, outcome, { suspend }).status;
        expect(contractBreach(status.conditions)).toBe("");
      }),
    );
  });

  it("does not change when nothing did", () => {
    const once = jobAfter(running, active("TASK_STATUS_PROCESSING", { progressPercent: 40, eta: 9 })).status;
    expect(jobAfter(once, active("TASK_STATUS_PROCESSING", { progressPercent: 40, eta: 9 })).status).toEqual(once);
  });

  it("tells since when the task of its annotation cannot be attached, and nothing of it afterwards", () => {
    const halt: JobOutcome = { phase: "Halted", reason: "SubmissionUnknown", message: "unknown" };
    const refused = { reason: "TaskNotFound", message: "the service has no task x" } as const;
    const told = { type: "TaskAttached", status: "False", lastTransitionTime: early, ...refused } as const;
    const before = { ...halted, conditions: [...halted.conditions, told] };
    const again = jobAfter(before, { ...halt, notAttached: { ...refused, message: "still not" } }).status;
    expect(getCondition(again.conditions, "TaskAttached")).toMatchObject({
      status: "False",
      message: "still not",
      lastTransitionTime: early,
    });
    expect(getCondition(jobAfter(again, halt).status.conditions, "TaskAttached")).toBeUndefined();
  });
});

describe("what the service shows of a task", () => {
  it.each([
    [40.4, 40],
    [-3, 0],
    [250, 100],
    [undefined, undefined],
  ])("a progress of %s is shown as %s", (progressPercent, expected) => {
    const change = progressPercent === undefined ? {} : { progressPercent };
    expect(jobAfter(PENDING_STATUS, active("X", change)).status.progressPercent).toBe(expected);
  });

  it("is kept verbatim", () => {
    const { status } = jobAfter(
      PENDING_STATUS,
      active("TASK_STATUS_MARINATING", { reason: "slowly", taskType: "VENDOR", eta: 12.4 }),
    );
    expect(status).toMatchObject({
      remoteStatus: "TASK_STATUS_MARINATING",
      reason: "slowly",
      taskType: "VENDOR",
      etaSeconds: 12,
    });
  });

  it("is no estimate when it is negative", () => {
    expect(jobAfter(PENDING_STATUS, active("X", { eta: -1 })).status).not.toHaveProperty("etaSeconds");
  });
});

it("the first status of a job is not later than the record of its request, which the API server did not store at once", () => {
  const submission = { id: "i", attempt: 1, specHash: "h", time: early, state: "Intended" } as const;
  const before = { ...PENDING_STATUS, submission };
  expect(jobAfter(before, { phase: "Submitting" }).status.startTime).toBe(early);
});

describe("a finished job", () => {
  it("tells when, for how long, and until when the results can be fetched", () => {
    const before = { ...running, etaSeconds: 5 };
    const { status } = jobAfter(before, { phase: "Succeeded", result: taskOf("TASK_STATUS_SUCCEED"), results });
    expect(status).toMatchObject({
      completionTime: now,
      startTime: early,
      duration: "1h",
      resultsExpireAt: "2026-03-01T01:00:00Z",
      results: [{ kind: "Video", url: video.url, type: "mp4", expiresAt: "2026-03-01T01:00:00Z" }],
    });
    expect(status).not.toHaveProperty("etaSeconds");
  });

  it("expires with the first of its URLs", () => {
    const two = jobResults(
      [
        { kind: "Video", ...video, ttlSeconds: 7200 },
        { kind: "Video", ...video, ttlSeconds: 60 },
      ],
      START,
    );
    expect(jobAfter(running, { phase: "Succeeded", result: undefined, results: two }).status.resultsExpireAt).toBe(
      "2026-03-01T00:01:00Z",
    );
  });

  it("keeps its task", () => {
    const outcome: JobOutcome = { phase: "Failed", reason: "DeadlineExceeded", message: "", result: undefined };
    expect(jobAfter(running, outcome).status).toMatchObject({ taskID: "task-1", completionTime: now });
  });
});

describe("the life of a URL", () => {
  const ttl = (ttlSeconds: number | undefined) => (ttlSeconds === undefined ? {} : { ttlSeconds });
  it.each([
    ["is what the service says", 3600, "2026-03-01T01:00:00Z"],
    ["is a day where the service says nothing", undefined, "2026-03-02T00:00:00Z"],
  ])("%s", (_name, seconds, expiresAt) => {
    expect(jobResults([{ kind: "Audio", url: "u", type: "mp3", ...ttl(seconds) }], START)).toMatchObject([
      { expiresAt },
    ]);
  });

  it("counts for every kind of result, and what has no URL is none", () => {
    const result = taskOf("TASK_STATUS_SUCCEED", {
      videos: [video],
      audios: [{ url: "a", type: "mp3" }],
      images: [{ url: "", type: "png" }],
    });
    expect(resultsFrom(result, START).map(({ kind }) => kind)).toEqual(["Audio", "Video"]);
  });

  it.each([
    ["file:///etc/passwd", "mp3/../../x"],
    ["javascript:alert(1)", "mp3\\..\\x"],
    ["http://169.254.169.254/", ""],
    ["http://127.0.0.1:8080/a", "../../../../etc/cron.d/x"],
    ["https://key:secret@files.example.com/a", "<script>"],
  ])("%s of type %j is named, not linked", (address, type) => {
    const video = { video_url: address, video_url_ttl: "3600", video_type: type };
    const wire = { task: { status: "TASK_STATUS_SUCCEED" }, videos: [video] };
    const found = resultsFrom(taskResultFrom(wire), START, publicOnly("not public"));
    expect(found).toEqual([{ kind: "Video", address, expiresAt: "2026-03-01T01:00:00Z" }]);
    const { status } = jobAfter(running, { phase: "Succeeded", result: undefined, results: found });
    const message = getCondition(status.conditions, "Complete")?.message;
    expect(message).toBe(
      `1 result; ${address} is not a URL that the account may read from: see status.results[].address`,
    );
  });

  const done = jobAfter(running, { phase: "Succeeded", result: undefined, results }).status;
  const object = (status: JobStatus) => ({ metadata: { name: "sea", generation: 1 }, status });

  it("ends: a warning when a quarter is left, a word when it is over, each once", () => {
    expect(expiryOf(done, START)).toEqual({ kind: "Later", atMs: START + 2_700_000 });
    expect(expiryOf(done, START + 2_699_999).kind).toBe("Later");
    const warned = expiryOf(done, START + 2_700_000);
    if (warned.kind !== "Warn") throw new Error(warned.kind);
    expect(shown(warned.status.conditions)).toContain("ResultsAvailable=True/Expiring");
    expect(kstatusOf(object(warned.status))).toBe("Current");
    expect(expiryOf(warned.status, START + 3_599_999)).toEqual({ kind: "Later", atMs: START + 3_600_000 });

    const expired = expiryOf(warned.status, START + 3_600_000);
    if (expired.kind !== "Expired") throw new Error(expired.kind);
    expect(shown(expired.status.conditions)).toEqual([
      "Complete=True/Completed",
      "Ready=True/Completed",
      "ResultsAvailable=False/Expired",
    ]);
    expect(kstatusOf(object(expired.status))).toBe("Current");
    expect(expiryOf(expired.status, START + 9_999_999)).toEqual({ kind: "None" });
  });

  it("is over at once for an operator that slept through the warning", () => {
    expect(expiryOf(done, START + 3_600_000).kind).toBe("Expired");
  });

  it("does not matter to what was copied, nor to a failed job", () => {
    const kept = jobAfter(running, { phase: "Succeeded", result: undefined, results: stored }).status;
    expect(expiryOf(kept, START + 9_999_999)).toEqual({ kind: "None" });
    expect(expiryOf({ ...halted, resultsExpireAt: early }, START)).toEqual({ kind: "None" });
  });
});
