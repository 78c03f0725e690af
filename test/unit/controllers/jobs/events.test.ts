import { expect, it } from "vitest";
import type { JobPhase } from "../../../../src/api/v1alpha1/job.ts";
import { mediaBatchResource } from "../../../../src/api/v1alpha1/kinds.ts";
import type { Reason } from "../../../../src/api/v1alpha1/reasons.ts";
import { announce } from "../../../../src/controllers/jobs/events.ts";
import type { JobStatus } from "../../../../src/controllers/jobs/types.ts";
import { controllerReference } from "../../../../src/kube/resource.ts";
import { videoJobOf } from "../../../support/jobs.ts";
import { storedMeta } from "../../../support/stored-meta.ts";

const OF_BATCH = controllerReference(mediaBatchResource, storedMeta({ name: "film", uid: "film" }));
const at = { lastTransitionTime: "2026-03-01T00:00:00Z" };

const stalledFor = (phase: JobPhase, reason: Reason, message = "why"): JobStatus => ({
  phase,
  conditions: [
    { type: "Ready", status: "False", reason, message, ...at },
    { type: "Stalled", status: "True", reason, message, ...at },
  ],
});
const running = (phase: JobPhase): JobStatus => ({
  phase,
  conditions: [{ type: "Ready", status: "False", reason: "Running", message: "", ...at }],
});

type Row = [name: string, before: JobStatus | undefined, after: JobStatus, events: string[]];
const ROWS: readonly Row[] = [
  ["a new job that stalls", undefined, stalledFor("Pending", "StoreNotReady"), ["StoreNotReady Submit: why"]],
  [
    "a waiting job that stalls",
    running("Pending"),
    stalledFor("Pending", "InsufficientBalance"),
    ["InsufficientBalance Submit: why"],
  ],
  [
    "a job that stalls for another reason",
    stalledFor("Pending", "InsufficientBalance"),
    stalledFor("Pending", "OperationForbidden"),
    ["OperationForbidden Submit: why"],
  ],
  [
    "a job that stalls for the same reason in other words",
    stalledFor("Pending", "OperationForbidden"),
    stalledFor("Pending", "OperationForbidden", "request 2"),
    [],
  ],
  [
    "a running job that stalls",
    running("Running"),
    stalledFor("Running", "AccountMismatch"),
    ["AccountMismatch Poll: why"],
  ],
  ["a copy that stalls", running("Storing"), stalledFor("Storing", "ResultTooLarge"), ["ResultTooLarge Store: why"]],
  ["a job that fails, once", running("Running"), stalledFor("Failed", "NoResult"), ["NoResult Submit: why"]],
  [
    "a job whose polls fail, once",
    running("Running"),
    stalledFor("Running", "PollsFailing"),
    ["PollsFailing Poll: why"],
  ],
];

it.each([
  ["a job", {}, ["Submitted", "Completed"]],
  ["a job of a batch", { name: "film-3", ownerReferences: [OF_BATCH] }, []],
])("%s that goes well has these Normal events", (_name, metadata, expected) => {
  const reasons: string[] = [];
  const recorder = {
    warning: () => {},
    flush: async () => {},
    normal: (_object: unknown, reason: string) => void reasons.push(reason),
  };
  const statuses: JobStatus[] = [running("Pending"), { ...running("Queued"), taskID: "t" }, running("Succeeded")];
  for (const [at, status] of statuses.entries()) {
    const job = videoJobOf("image", {}, statuses[at - 1]);
    announce({ recorder }, { ...job, metadata: { ...job.metadata, ...metadata } }, status);
  }
  expect(reasons).toEqual(expected);
});

it.each(ROWS)("%s has these Warning events", (_name, before, after, expected) => {
  const warnings: string[] = [];
  const recorder = {
    normal: () => {},
    flush: async () => {},
    warning: (_object: unknown, reason: string, action: string, note: string) =>
      void warnings.push(`${reason} ${action}: ${note}`),
  };
  announce({ recorder }, videoJobOf("image", {}, before), after);
  expect(warnings).toEqual(expected);
});

const submission = { id: "one", attempt: 1, specHash: "s", time: at.lastTransitionTime } as const;
const attached: JobStatus["conditions"] = [
  { type: "TaskAttached", status: "True", reason: "TaskAttached", message: "", ...at },
];
const halted: JobStatus = { ...stalledFor("Halted", "SubmissionUnknown"), lastHandledResubmitToken: "a" };

it.each<[name: string, before: JobStatus | undefined, after: JobStatus, reasons: string[]]>([
  ["a halted job that is released", halted, { ...running("Pending"), lastHandledResubmitToken: "b" }, ["Released"]],
  ["a halted job whose token is the old one", halted, { ...running("Running"), lastHandledResubmitToken: "a" }, []],
  ["a job with a token that was not halted", running("Pending"), { ...halted, lastHandledResubmitToken: "b" }, []],
  ["a job that has a task", running("Submitting"), { ...running("Queued"), taskID: "t", attempts: 1 }, ["Submitted"]],
  ["a job that has the same task", { ...running("Queued"), taskID: "t" }, { ...running("Running"), taskID: "t" }, []],
  [
    "a job whose task was attached",
    running("Pending"),
    { ...running("Queued"), taskID: "t", conditions: attached, submission: { ...submission, state: "Accepted" } },
    [],
  ],
])("%s has these Normal events of its submission", (_name, before, after, reasons) => {
  const normal: string[] = [];
  const recorder = {
    normal: (_object: unknown, reason: string) => void normal.push(reason),
    flush: async () => {},
    warning: () => {},
  };
  announce({ recorder }, videoJobOf("image", {}, before), after);
  expect(normal.filter((reason) => reason === "Released" || reason === "Submitted")).toEqual(reasons);
});
