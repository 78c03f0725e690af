import { describe, expect, it } from "vitest";
import { speechJobResource } from "../../../../../src/api/v1alpha1/kinds.ts";
import type { SpeechJobStatus } from "../../../../../src/api/v1alpha1/speech-job.ts";
import { act, type HaltDecision } from "../../../../../src/cli/operate/resolve/act.ts";
import { type Evidence, resolutionText } from "../../../../../src/cli/operate/resolve.ts";
import type { Job } from "../../../../../src/controllers/jobs/types.ts";
import { resolutionOf } from "../../../../../src/describe/resolution.ts";
import type { KubeClient } from "../../../../../src/kube/client.ts";
import { createStore } from "../../../../../src/runtime/store.ts";
import { createFakeClock } from "../../../../support/fake-clock.ts";
import { speechJobOf } from "../../../../support/jobs.ts";
import { memoryKube } from "../../../../support/memory-kube.ts";

const submission = {
  id: "i",
  specHash: "0",
  attempt: 2,
  state: "Unknown" as const,
  time: "2026-02-28T22:05:00Z",
};
const message = "The request (submitSpeech) was sent at 2026-02-28T22:00:00Z; its outcome is unknown";
const halted: SpeechJobStatus = {
  phase: "Halted",
  submission,
  conditions: [
    { type: "Stalled", status: "True", reason: "SubmissionUnknown", message, lastTransitionTime: submission.time },
  ],
};

/** The status that the operator writes after the annotation `name` has changed. */
type Operator = (annotations: Record<string, string>) => Partial<SpeechJobStatus>;

function setUp(operator: Operator, status: SpeechJobStatus = halted) {
  const job = speechJobOf("hd", {}, status);
  const store = createStore<Job>();
  store.upsert(job);
  const clock = createFakeClock();
  const deleted: object[] = [];
  let current: Job = job;
  const client: KubeClient = {
    ...memoryKube(store).client,
    async mergePatch(_resource, _place, patch) {
      const { metadata } = patch as { metadata: { resourceVersion: string; annotations: Record<string, string> } };
      expect(metadata.resourceVersion).toBe("7");
      const written = { ...current.status, ...operator(metadata.annotations) };
      current = { ...job, metadata: { ...job.metadata, annotations: metadata.annotations }, status: written as never };
      return current as never;
    },
    get: async () => current as never,
    delete: async (_resource, _place, options) => void deleted.push(options?.body ?? {}),
  };
  const ending = new AbortController();
  const options = { resource: speechJobResource, job, clock, signal: ending.signal };
  return {
    deleted,
    ending,
    decide: (decision: HaltDecision) => act(client, decision, options),
    annotations: () => current.metadata.annotations,
  };
}

const refused = (message: string, requested: string | undefined): Partial<SpeechJobStatus> => ({
  lastHandledReconcileAt: requested,
  conditions: [
    ...halted.conditions,
    { type: "TaskAttached", status: "False", reason: "TaskNotFound", message, lastTransitionTime: submission.time },
  ],
});
const at = "mooring.dev/reconcile-requested-at";

describe("mooring resolve --task-id", () => {
  it("says that the job follows the task", async () => {
    const { decide, annotations } = setUp((now) => ({
      phase: "Queued",
      taskID: now["mooring.dev/attach-task"],
      submission: { ...submission, state: "Accepted" },
    }));
    expect(await decide({ kind: "Attach", taskID: "t-1" })).toBe(
      "SpeechJob team/sea follows task t-1; nothing was sent",
    );
    expect(annotations()).toMatchObject({ "mooring.dev/attach-task": "t-1" });
  });

  it("fails with the message of the operator when it refuses the task", async () => {
    const { decide } = setUp((now) => refused("Task t-1: the service does not show it", now[at]));
    await expect(decide({ kind: "Attach", taskID: "t-1" })).rejects.toThrow(
      "SpeechJob team/sea stays Halted. Task t-1: the service does not show it",
    );
  });

  it("does not take the refusal of another task, or an earlier one, for the answer", async () => {
    for (const earlier of [refused("Task t-0: no", undefined), refused("Task t-1: no", "before")]) {
      const { decide, ending } = setUp(() => earlier);
      setTimeout(() => ending.abort(), 20);
      await expect(decide({ kind: "Attach", taskID: "t-1" })).rejects.toThrow("no operator has answered");
    }
  });

  it("refuses a task that the job had before", async () => {
    const { decide, annotations } = setUp(() => ({}), { ...halted, lastHandledAttachTask: "t-1" });
    await expect(decide({ kind: "Attach", taskID: "t-1" })).rejects.toThrow("was attached to task t-1 before");
    expect(annotations()).toBeUndefined();
  });
});

describe("mooring resolve", () => {
  it("--resubmit sets a new token, and waits until the operator has handled it", async () => {
    const { decide } = setUp((now) => ({ lastHandledResubmitToken: now["mooring.dev/resubmit-token"] }));
    expect(await decide({ kind: "Resubmit" })).toMatch(/is released: .*may be paid for a second time$/);
  });

  it("--give-up deletes the job as it was shown", async () => {
    const { decide, deleted } = setUp(() => ({}));
    await decide({ kind: "GiveUp" });
    expect(deleted).toEqual([{ preconditions: { uid: "bbbbbbbb-0000-0000-0000-000000000001", resourceVersion: "7" } }]);
  });

  it("shows the time of the request and a command for each decision", () => {
    const job = speechJobOf("hd", {}, halted);
    expect(resolutionOf("SpeechJob", job)).toMatchObject({
      object: "SpeechJob team/sea",
      operation: "submitSpeech",
      requestTime: "2026-02-28T22:00:00Z",
      attempt: 2,
      decisions: [
        { command: "mooring resolve speechjob/sea -n team --task-id TASK_ID" },
        { command: "mooring resolve speechjob/sea -n team --resubmit" },
        { command: "mooring resolve speechjob/sea -n team --give-up" },
      ],
    });
    expect(resolutionOf("SpeechJob", speechJobOf("turbo", {}, halted)).decisions).toHaveLength(2);
  });
});

describe("mooring resolve without a decision", () => {
  const shown = (evidence: Partial<Evidence>) =>
    resolutionText({
      ...resolutionOf("SpeechJob", speechJobOf("hd", {}, halted)),
      day: "2026-02-28",
      requests: {},
      ...evidence,
    });
  const bill = {
    product: "vendor-speech-2.6-hd",
    category: "gen_api",
    key: "team",
    amount: "0.0120",
    requests: 3,
    matches: true,
  };

  it("shows the numbers of the service and of Mooring side by side, and what they mean", () => {
    const text = shown({ bills: [bill], requests: { billed: 3, accepted: 2, unknown: 1 } });
    expect(text).toMatch(/^yes +vendor-speech-2\.6-hd +gen_api +team +0\.0120 +3$/m);
    expect(text).toMatch(/^REQUESTS OF 2026-02-28 +COUNT$/m);
    expect(text).toMatch(/^billed by the service, of the same product +3$/m);
    expect(text).toMatch(/^accepted, as Mooring knows +2$/m);
    expect(text).toMatch(/^of unknown outcome, this one included +1$/m);
    expect(text).toContain("The service bills 1 more than Mooring knows as accepted: this request may be among them");
  });

  it.each([
    {
      given: "a bill for each known request",
      evidence: { bills: [bill], requests: { billed: 3, accepted: 3, unknown: 1 } },
      says: "The service bills no request beyond those that Mooring knows",
    },
    {
      given: "no bills",
      evidence: { bills: [], requests: { billed: 0, accepted: 0, unknown: 1 } },
      says: "The service shows no bills of 2026-02-28",
    },
    {
      given: "bills that cannot be read",
      evidence: { problem: "forbidden", requests: { accepted: 2, unknown: 1 } },
      says: "The bills cannot be read: forbidden",
    },
  ])("with $given says so", ({ evidence, says }) => expect(shown(evidence)).toContain(says));
});
