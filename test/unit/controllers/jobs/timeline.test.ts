import { describe, expect, it } from "vitest";
import { TIMELINE_LIMIT } from "../../../../src/api/v1alpha1/job.ts";
import { timelineOf } from "../../../../src/controllers/jobs/status.ts";
import type { JobStatus } from "../../../../src/controllers/jobs/types.ts";
import { START } from "../../../support/fake-clock.ts";

type Seen = Pick<JobStatus, "phase" | "taskID"> & {
  request?: readonly [attempt: number, state: NonNullable<JobStatus["submission"]>["state"]];
  suspended?: boolean;
};

function statusOf({ phase, taskID, request }: Seen): JobStatus {
  const [attempt = 0, state] = request ?? [];
  const submission =
    state === undefined
      ? {}
      : { submission: { id: "id", specHash: "hash", attempt, state, time: "2026-03-01T00:00:00Z" } };
  return { conditions: [], phase, ...submission, ...(taskID === undefined ? {} : { taskID }) };
}

/** The timeline after a series of statuses, one every 250 ms. */
function timelineAfter(...seen: Seen[]) {
  let status: JobStatus | undefined;
  for (const [index, one] of seen.entries()) {
    const next = statusOf(one);
    status = { ...next, timeline: timelineOf(status, next, one.suspended === true, START + 250 * index) };
  }
  return status?.timeline ?? [];
}

const shown = (timeline: ReturnType<typeof timelineAfter>) =>
  timeline.map(({ phase, attempt, taskID }) => [phase, attempt, ...(taskID === undefined ? [] : [taskID])].join(" "));

const LIVES: { name: string; seen: Seen[]; expected: string[] }[] = [
  {
    name: "a task with a copy of its results",
    seen: [
      { phase: "Pending" },
      { phase: "Pending", request: [1, "Intended"] },
      { phase: "Submitting", request: [1, "Intended"] },
      { phase: "Queued", request: [1, "Accepted"], taskID: "t-1" },
      { phase: "Running", request: [1, "Accepted"], taskID: "t-1" },
      { phase: "Storing", request: [1, "Accepted"], taskID: "t-1" },
      { phase: "Succeeded", request: [1, "Accepted"], taskID: "t-1" },
    ],
    expected: ["Pending 1", "Submitting 1", "Queued 1 t-1", "Running 1", "Storing 1", "Succeeded 1"],
  },
  {
    name: "a task that fails and a second one, whose ID replaces the first",
    seen: [
      { phase: "Pending", request: [1, "Intended"] },
      { phase: "Queued", request: [1, "Accepted"], taskID: "t-1" },
      { phase: "Pending", request: [1, "Accepted"] },
      { phase: "Pending", request: [2, "Intended"] },
      { phase: "Running", request: [2, "Accepted"], taskID: "t-2" },
      { phase: "Failed", request: [2, "Accepted"], taskID: "t-2" },
    ],
    expected: ["Submitting 1", "Queued 1 t-1", "Pending 2", "Submitting 2", "Running 2 t-2", "Failed 2"],
  },
  {
    name: "a request that the service does not take is sent again under its number",
    seen: [
      { phase: "Pending", request: [1, "Intended"] },
      { phase: "Pending", request: [1, "NotSent"] },
      { phase: "Pending", request: [1, "Intended"] },
    ],
    expected: ["Submitting 1", "Pending 1", "Submitting 1"],
  },
  {
    name: "a job that is suspended after its intent waits",
    seen: [
      { phase: "Pending", request: [1, "Intended"] },
      { phase: "Pending", request: [1, "Intended"], suspended: true },
    ],
    expected: ["Submitting 1", "Pending 1"],
  },
  {
    name: "a halted job that a user attaches to its task",
    seen: [
      { phase: "Pending", request: [1, "Intended"] },
      { phase: "Halted", request: [1, "Unknown"] },
      { phase: "Queued", request: [1, "Accepted"], taskID: "t-9" },
    ],
    expected: ["Submitting 1", "Halted 1", "Queued 1 t-9"],
  },
  {
    name: "a job that ends before its second attempt is sent, because its deadline ends or another job made its result",
    seen: [
      { phase: "Queued", request: [1, "Accepted"], taskID: "t-1" },
      { phase: "Pending", request: [1, "Accepted"] },
      { phase: "Failed", request: [1, "Accepted"] },
    ],
    expected: ["Queued 1 t-1", "Pending 2", "Failed 2"],
  },
];

describe("the timeline of a job shows", () => {
  it.each(LIVES)("$name", ({ seen, expected }) => {
    expect(shown(timelineAfter(...seen))).toEqual(expected);
  });

  it("a task whose own status was never stored, in the entry after it", () => {
    const timeline = timelineAfter({ phase: "Pending", request: [1, "Intended"] });
    const accepted = { ...statusOf({ phase: "Queued", request: [1, "Accepted"], taskID: "t-1" }), timeline };
    const again = statusOf({ phase: "Pending", request: [1, "Accepted"] });
    expect(shown(timelineOf(accepted, again, false, START))).toEqual(["Submitting 1", "Pending 2 t-1"]);
  });

  it("times with milliseconds, and none that goes back when the clock does", () => {
    const first = timelineOf(undefined, statusOf({ phase: "Pending" }), false, START + 5);
    const later = timelineOf({ conditions: [], timeline: first }, statusOf({ phase: "Queued" }), false, START - 60_000);
    expect(later.map(({ time }) => time)).toEqual(["2026-03-01T00:00:00.005Z", "2026-03-01T00:00:00.005Z"]);
  });

  it("the first and the latest entries of a life with very many", () => {
    const attempts = Array.from({ length: 40 }, (_, index) => index + 1);
    const seen = attempts.flatMap((attempt): Seen[] => [
      { phase: "Pending", request: [attempt, "Intended"] },
      { phase: "Halted", request: [attempt, "Unknown"] },
    ]);
    const timeline = timelineAfter({ phase: "Pending" }, ...seen);
    expect(timeline).toHaveLength(TIMELINE_LIMIT);
    expect(shown(timeline).slice(0, 2)).toEqual(["Pending 1", "Halted 25"]);
    expect(shown(timeline).at(-1)).toBe("Halted 40");
  });
});
