import { expect, it } from "vitest";
import type { VideoJobStatus } from "../../../../src/api/v1alpha1/video-job.ts";
import type { JournalEntry } from "../../../../src/submission/journal.ts";
import { configMapOf } from "../../../../src/submission/journal-shards.ts";
import { entryOf } from "../../../support/jobs.ts";
import { intended, jobWorld, UID } from "./intent-world.ts";

const time = "2026-03-01T00:00:00Z";
const submission = { id: "intent-1", specHash: "0", attempt: 1, time } as const;
const accepted = { ...submission, state: "Accepted" } as const;
const account = entryOf().account;
const inPhase = (phase: VideoJobStatus["phase"], change: Partial<VideoJobStatus> = {}): VideoJobStatus => ({
  conditions: [],
  phase,
  account,
  submission: accepted,
  taskID: "task-0",
  attempts: 1,
  ...change,
});

it("the job of these tests is in a shard that an earlier version does not have", () => {
  expect(configMapOf(UID)).not.toBe(0);
});

it.each<{
  name: string;
  status: (shard: string, head: string) => VideoJobStatus | undefined;
  left?: JournalEntry[];
  expected: Partial<VideoJobStatus> | undefined;
  requests: number;
}>([
  { name: "was not submitted", status: () => undefined, expected: { phase: "Queued", taskID: "task-1" }, requests: 1 },
  {
    name: "was about to be submitted: its intent is in the status, and not in the journal",
    status: (_shard, head) => intended(head),
    expected: { phase: "Queued", taskID: "task-1", attempts: 1 },
    requests: 1,
  },
  {
    name: "was submitted, and the outcome is unknown",
    status: (_shard, head) => intended(head),
    left: [entryOf()],
    expected: { phase: "Halted", attempts: 1 },
    requests: 0,
  },
  {
    name: "was submitted, and only the journal has the task",
    status: (_shard, head) => intended(head),
    left: [entryOf({ outcome: { taskID: "task-0" } })],
    expected: { phase: "Queued", taskID: "task-0", attempts: 1 },
    requests: 0,
  },
  {
    name: "was submitted, and the journal that its status shows is lost",
    status: () => intended("lost"),
    expected: { phase: "Halted", attempts: 1 },
    requests: 0,
  },
  { name: "is queued", status: () => inPhase("Queued"), expected: { phase: "Queued" }, requests: 0 },
  {
    name: "is queued, and its entry is still in the journal",
    status: () => inPhase("Queued"),
    left: [entryOf({ outcome: { taskID: "task-0" } })],
    expected: { phase: "Queued" },
    requests: 0,
  },
  { name: "runs", status: () => inPhase("Running"), expected: { phase: "Running" }, requests: 0 },
  {
    name: "is halted",
    status: () => inPhase("Halted", { submission: { ...submission, state: "Unknown" } }),
    expected: { phase: "Halted" },
    requests: 0,
  },
  { name: "has succeeded", status: () => inPhase("Succeeded"), expected: { phase: "Succeeded" }, requests: 0 },
  {
    name: "has failed, and its entry is still in the journal",
    status: () => inPhase("Failed"),
    left: [entryOf()],
    expected: { phase: "Failed" },
    requests: 0,
  },
])(
  "an upgrade from one ConfigMap pays $requests times for a job that $name",
  async ({ status, left = [], ...rest }) => {
    const w = await jobWorld({ status, left });
    for (let reconciles = 0; reconciles < 4; reconciles++) {
      await w.reconcile();
      if (rest.requests > 0 && reconciles === 0) await w.woken();
    }
    expect(w.job()?.status).toMatchObject({ ...rest.expected });
    expect(w.steps.filter((step) => step === "request")).toHaveLength(rest.requests);
    expect(w.journal.entries()).toEqual([]);
  },
);

it("the message of a job names the ConfigMap that was lost", async () => {
  const w = await jobWorld({ status: () => intended("lost") });
  await w.reconcile();
  const { conditions } = w.job()?.status ?? {};
  expect(conditions?.find(({ type }) => type === "Stalled")?.message).toContain(
    `the submission journal does not have the request: ConfigMap mooring/mooring-journal or mooring/mooring-journal-${configMapOf(UID)} was deleted or restored`,
  );
});
