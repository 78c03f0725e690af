import * as z from "zod";
import {
  flag,
  int,
  listOf,
  matching,
  objectName,
  relativePrefix,
  text,
  time,
  yuan,
  yuanStatus,
} from "../schema/fields.ts";
import { immutable, type SpecRule, type TransitionRule } from "../schema/rule.ts";
import {
  accountRefSchema,
  boundAccountSchema,
  commonStatus,
  reuseSchema,
  secretKeyRefSchema,
  submissionSchema,
} from "./meta.ts";

/** The states of a job, in order; `Halted` waits for the user. A terminal phase (Succeeded, Failed) is never left. */
export const jobPhases = [
  "Pending",
  "Submitting",
  "Queued",
  "Running",
  "Storing",
  "Succeeded",
  "Failed",
  "Halted",
] as const;
export type JobPhase = (typeof jobPhases)[number];

/** The units of jobs, by which a bill is split. */
export const consumptionUnits = ["Characters", "Seconds"] as const;
export type Consumption = { unit: (typeof consumptionUnits)[number]; quantity: number };

export const outputSchema = z
  .object({
    storeRef: z
      .object({ name: objectName("Name of the ArtifactStore.") })
      .describe("The ArtifactStore, in the namespace of this object."),
    prefix: relativePrefix("Path inside the store, before the generated key.", "output.prefix").optional(),
  })
  .describe("Copies the results to an ArtifactStore before their URLs expire.");

const jobOutputSchema = outputSchema
  .extend({
    name: matching(
      "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$",
      128,
      "Name of the result: its key is PREFIX/NAME.TYPE, of further results PREFIX/NAME-1.TYPE and so on. What has this key is replaced. Default: a key that no other object has.",
      "output.name must be 1 to 128 letters, digits, '.', '_' and '-', a letter or digit first",
    ).optional(),
  })
  .describe("Copies the results to an ArtifactStore before their URLs expire.");

/** Where to tell that a job has ended. `secretRef`: the schema of the signing secret. */
export const callbackSchema = z
  .object({
    url: matching(
      "^https?://[^\\s/@?#]+([/?][^\\s#]*)?$",
      2048,
      "Address of the receiver, public or that of a Service of this namespace, such as http://hook.team.svc/done. Redirects are not followed.",
      "callback.url must be http(s)://host[:port][/path][?query] without user and fragment",
    ),
    secretRef: secretKeyRefSchema.describe(
      "The signing secret of Standard Webhooks: 24 to 64 bytes in base64, with or without the prefix whsec_.",
    ),
  })
  .describe(
    "One signed POST when the job has succeeded or failed (Standard Webhooks, CloudEvents), at least once. A receiver that fails is tried again with backoff for a day. It never delays or fails the job.",
  );

/** The spec fields that both jobs share. */
export const commonJobSpec = {
  accountRef: accountRefSchema.optional(),
  suspend: flag(
    "True: the job waits before its submission. After the submission, the service cannot stop the task, and the condition Suspended says so. Default false.",
  ).default(false),
  activeDeadlineSeconds: int(
    1,
    "Seconds after the first submission until the job fails with DeadlineExceeded. Queueing at the service and further attempts count. Default: none.",
  ).optional(),
  backoffLimit: int(
    0,
    "How many times the job is submitted, and paid for, again after its remote task failed. 0 to 10. Default 0.",
    10,
  ).default(0),
  onSubmissionUnknown: z
    .enum(["Halt", "Resubmit"])
    .default("Halt")
    .describe(
      "What to do when it is unknown whether the service accepted the request: Halt waits for a new value of the annotation mooring.dev/attach-task or mooring.dev/resubmit-token. Resubmit sends the request again and may pay twice. A request that the service accepted (2xx) is never sent again. Default Halt.",
    ),
  ttlSecondsAfterFinished: int(
    0,
    "Seconds after the end of the job until the object is deleted. Default: never.",
  ).optional(),
  output: jobOutputSchema.optional(),
  callback: callbackSchema.optional(),
  maxCost: yuan(
    "Most that the job may cost, all its attempts included. It is not sent while its estimate is higher, or no bill has shown a price of its model.",
  ).optional(),
  reuse: reuseSchema(
    "SameRequest: if the store of output has the results of the same request, unchanged, the job takes them and sends nothing. Needs output. Default: that of the ArtifactStore, else of the account, else Never.",
  ).optional(),
  managedBy: matching(
    "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$",
    63,
    "Controller that runs this job, such as example.com/queue. Mooring then ignores the job. Default: Mooring.",
    "managedBy must be a domain and a path, at most 63 characters, such as example.com/queue",
  ).optional(),
};

/** The rule that both kinds have on their common fields. */
export const REUSE_RULE: SpecRule<{ reuse?: string | undefined; output?: unknown }> = {
  cel: "!has(self.reuse) || self.reuse == 'Never' || has(self.output)",
  message: "reuse SameRequest needs output, which keeps the results: set output.storeRef, or remove reuse",
  fieldPath: ".reuse",
  holds: ({ reuse, output }) => reuse !== "SameRequest" || output !== undefined,
};

const MUTABLE: readonly string[] = ["suspend", "ttlSecondsAfterFinished", "activeDeadlineSeconds"];

/** Refuses any change of a job's spec but of the fields in `MUTABLE`. The rules of the kind's own fields come first. */
export function jobTransitions(kind: string, { shape }: z.ZodObject): TransitionRule[] {
  const isCommon = (field: string) => field in commonJobSpec;
  const fields = Object.keys(shape).filter((field) => !MUTABLE.includes(field));
  const ordered = [...fields.filter((field) => !isCommon(field)), ...fields.filter(isCommon)];
  return immutable(
    Object.fromEntries(
      ordered.map((field) => [field, shape[field] instanceof z.ZodOptional ? "optional" : "required"]),
    ),
    "",
    `create a new ${kind} instead (only suspend, ttlSecondsAfterFinished and activeDeadlineSeconds can be changed)`,
  );
}

const resultSchema = z.object({
  kind: z.enum(["Audio", "Video", "Image"]).describe("Kind of the result."),
  url: text(8192, "URL of the result.", 0).optional(),
  address: text(
    8192,
    "In place of url: an address of the service that is not http(s), or that the account may not read from. Do not open it unchecked.",
    0,
  ).optional(),
  type: text(64, "File type, such as mp3 or mp4.", 0).optional(),
  expiresAt: time(
    "When the URL expires. For tasks, the service gives a lifetime without a unit: Mooring reads it as seconds.",
  ).optional(),
  artifact: z
    .object({
      uri: text(4096, "Location of the copy.", 0),
      bytes: z.int().min(0).describe("Size of the copy in bytes.").optional(),
      sha256: text(64, "SHA-256 of the copy, in hex.", 0).optional(),
    })
    .describe("The copy in the ArtifactStore.")
    .optional(),
});
export type JobResult = z.output<typeof resultSchema>;

/** Most entries of `status.timeline`. */
export const TIMELINE_LIMIT = 32;

const phaseStartSchema = z.object({
  phase: z
    .enum(jobPhases)
    .describe("The phase that began. Submitting begins when the status shows the intent of a request."),
  attempt: int(1, "The attempt that the phase belongs to, or that Pending waits for."),
  reason: text(64, "Reason of the condition Ready at that time.", 0).optional(),
  taskID: text(512, "Identifier of the remote task, where it first shows.", 0).optional(),
  time: time("When the phase began, with milliseconds."),
});
export type PhaseStart = z.output<typeof phaseStartSchema>;

/** The status of both jobs. */
export const commonJobStatus = {
  ...commonStatus,
  phase: z.enum(jobPhases).describe("Summary of the state; the conditions are the contract.").optional(),
  taskID: text(512, "Identifier of the remote task.", 0).optional(),
  taskType: text(256, "Type of the remote task, verbatim.", 0).optional(),
  remoteStatus: text(256, "Status of the remote task, verbatim.", 0).optional(),
  progressPercent: int(0, "Progress that the service reports, 0 to 100. It never completes the job.", 100).optional(),
  etaSeconds: int(0, "Seconds that the service still expects to need.").optional(),
  reason: text(8192, "Reason that the service reports, verbatim.", 0).optional(),
  pollsFailingSince: time("Time of the first of the polls in a row that failed, or showed nothing useful.").optional(),
  startTime: time("When the operator first reconciled the job.").optional(),
  submitTime: time("When the service accepted the last attempt.").optional(),
  firstSubmitTime: time("When the service accepted the first attempt. activeDeadlineSeconds starts here.").optional(),
  nextAttemptTime: time("When the next attempt is sent, after a failed task or an unknown submission.").optional(),
  completionTime: time("When the job ended.").optional(),
  duration: text(64, "Time from startTime to completionTime as a Go duration, for kubectl get -o wide.", 0).optional(),
  attempts: int(0, "Paid submissions so far.").optional(),
  failedTasks: int(0, "Remote tasks of this job that failed. The job fails when this exceeds backoffLimit.").optional(),
  timeline: listOf(
    phaseStartSchema,
    TIMELINE_LIMIT,
    "When each phase of each attempt began, oldest first. Of a longer life, the first and the latest entries.",
  ).optional(),
  results: listOf(resultSchema, 64, "Results of the job.").optional(),
  reuseKey: text(
    64,
    "Hash of the request, if its results are reused. The store has its record at .mooring/requests/<reuseKey>.",
    0,
  ).optional(),
  reused: z
    .object({
      from: text(1024, "Kind, namespace and name of the job that made the results.", 0),
      time: time("When it recorded them."),
      keys: listOf(text(1024, "Key in the store.", 0), 64, "Where the results are in the store."),
    })
    .describe("The results were made by another job: nothing was sent, and nothing is charged.")
    .optional(),
  resultsExpireAt: time("When the first URL expires.").optional(),
  callback: z
    .object({
      state: z
        .enum(["Pending", "Delivered", "Failed"])
        .describe("Delivered: the receiver answered 2xx. Failed: it did not for a day, or wants no callback (410)."),
      attempts: int(0, "Requests whose outcome is known."),
      nextAttemptTime: time("When it is sent again.").optional(),
      lastError: text(1024, "Why the last attempt failed.", 0).optional(),
      time: time("When it was delivered or given up.").optional(),
    })
    .describe("How far the callback is.")
    .optional(),
  submission: submissionSchema.optional(),
  consumption: z
    .object({
      unit: z.enum(consumptionUnits).describe("Characters of speech, or Seconds of video."),
      quantity: int(0, "Number of units."),
    })
    .describe("What the last attempt asks for. Bills are split by it.")
    .optional(),
  estimatedCost: yuanStatus(
    "Estimate of what the job costs at the last known price of its model: before its end of one attempt, then of all attempts. Absent while no bill has shown a price; with a ClusterAccount, only in namespaces that spending.reports selects.",
  ).optional(),
  account: boundAccountSchema.optional(),
  lastHandledResubmitToken: text(
    1024,
    "The last handled value of the annotation mooring.dev/resubmit-token.",
    0,
  ).optional(),
  lastHandledAttachTask: text(512, "The last handled value of the annotation mooring.dev/attach-task.", 0).optional(),
};
