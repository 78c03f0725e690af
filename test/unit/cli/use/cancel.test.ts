import { describe, expect, it } from "vitest";
import { speechJobResource } from "../../../../src/api/v1alpha1/kinds.ts";
import type { SpeechJobStatus } from "../../../../src/api/v1alpha1/speech-job.ts";
import { cancellation } from "../../../../src/cli/use/cancel.ts";
import { speechJobOf } from "../../../support/jobs.ts";

const submission = { id: "i", specHash: "0", attempt: 1, time: "2026-03-01T00:00:00Z" };
const cancel = (status: Partial<SpeechJobStatus> | undefined, dropResult = false) =>
  cancellation(
    {
      resource: speechJobResource,
      object: speechJobOf("hd", {}, status === undefined ? undefined : { conditions: [], ...status }),
    },
    dropResult,
  );

describe("mooring cancel", () => {
  it.each<{ given: string; status: Partial<SpeechJobStatus> | undefined; says: string }>([
    { given: "a new job", status: undefined, says: "SpeechJob team/sea is deleted: nothing was sent" },
    {
      given: "a job that waits",
      status: { phase: "Pending", submission: { ...submission, state: "NotSent" } },
      says: "SpeechJob team/sea is deleted: nothing was sent",
    },
    {
      given: "a job between two attempts",
      status: { phase: "Pending", attempts: 1, submission: { ...submission, state: "Accepted" } },
      says: "SpeechJob team/sea is deleted: no request is under way; 1 request was sent before",
    },
  ])("deletes $given", ({ status, says }) => expect(cancel(status)).toBe(says));

  it.each<{ status: Partial<SpeechJobStatus>; says: string }>([
    { status: { phase: "Running", taskID: "t-1" }, says: "the service cannot stop task t-1, which is charged" },
    {
      status: { phase: "Pending", taskID: "t-1", submission: { ...submission, state: "Accepted" } },
      says: "the service cannot stop task t-1, which is charged",
    },
    { status: { phase: "Submitting" }, says: "the service cannot stop its request, which is charged" },
    {
      status: { phase: "Pending", submission: { ...submission, state: "Intended" } },
      says: "the service cannot stop its request",
    },
    { status: { phase: "Succeeded" }, says: "there is nothing to cancel" },
    { status: { phase: "Halted" }, says: "decide about its request first: mooring resolve speechjob/sea -n team" },
  ])("does not delete a job that is $status.phase", ({ status, says }) => {
    expect(() => cancel(status)).toThrow(says);
  });

  it("--drop-result deletes a job whose request was sent, and no other more", () => {
    expect(cancel({ phase: "Running", taskID: "t-1" }, true)).toBe(
      "SpeechJob team/sea is deleted: task t-1 runs on at the service and is charged",
    );
    expect(() => cancel({ phase: "Halted" }, true)).toThrow("decide about its request first");
  });
});
