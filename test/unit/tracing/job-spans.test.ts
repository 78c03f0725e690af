import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jobPhases, type PhaseStart } from "../../../src/api/v1alpha1/job.ts";
import type { JobStatus } from "../../../src/controllers/jobs/types.ts";
import { jobSpans } from "../../../src/tracing/job-spans.ts";
import { speechJobOf } from "../../support/jobs.ts";
import { expectWellFormed, treeOf } from "../../support/spans.ts";

const created = Date.parse(speechJobOf("hd").metadata.creationTimestamp ?? "");
const at = (ms: number) => new Date(created + ms).toISOString();
const ATTRIBUTES = { "mooring.operation": "submitSpeech" };

type Entry = readonly [phase: PhaseStart["phase"], attempt: number, ms: number, more?: Partial<PhaseStart>];

function timeline(entries: readonly Entry[]): PhaseStart[] {
  return entries.map(([phase, attempt, ms, more]) => ({ phase, attempt, time: at(ms), ...more }));
}

function spansOf(entries: readonly Entry[], status: Partial<JobStatus> = {}, deletedAtMs?: number) {
  const phase = entries.at(-1)?.[0];
  const job = speechJobOf(
    "hd",
    {},
    { conditions: [], ...(phase && { phase }), timeline: timeline(entries), ...status },
  );
  const deletion = deletedAtMs === undefined ? {} : { deletedAtMs: created + deletedAtMs };
  return jobSpans(job, { kind: "SpeechJob", attributes: ATTRIBUTES, ...deletion });
}

const failed = (reason: string): Partial<JobStatus> => ({
  conditions: [{ type: "Failed", status: "True", reason, message: "m", lastTransitionTime: at(0) }],
});

type Row = { name: string; entries: Entry[]; status?: Partial<JobStatus>; deletedAtMs?: number; expected: string[] };

const ROWS: Row[] = [
  {
    name: "a task whose results are copied",
    entries: [
      ["Submitting", 1, 400],
      ["Queued", 1, 700, { taskID: "t-1" }],
      ["Running", 1, 3000],
      ["Storing", 1, 9000],
      ["Succeeded", 1, 9500],
    ],
    expected: [
      "SpeechJob 0-9500",
      "  pending 0-400",
      "  attempt 400-9000",
      "    submit 400-700",
      "    remote queue 700-3000",
      "    remote run 3000-9000",
      "  store 9000-9500",
    ],
  },
  {
    name: "a synchronous request after a wait for the concurrency limit",
    entries: [
      ["Pending", 1, 100],
      ["Submitting", 1, 5000],
      ["Succeeded", 1, 6000],
    ],
    expected: ["SpeechJob 0-6000", "  pending 0-5000", "  attempt 5000-6000", "    submit 5000-6000"],
  },
  {
    name: "a failed task and a second attempt",
    entries: [
      ["Submitting", 1, 10],
      ["Queued", 1, 20, { taskID: "t-1" }],
      ["Pending", 2, 1000, { reason: "RemoteTaskFailed" }],
      ["Submitting", 2, 11_000],
      ["Running", 2, 11_500, { taskID: "t-2" }],
      ["Succeeded", 2, 20_000],
    ],
    expected: [
      "SpeechJob 0-20000",
      "  pending 0-10",
      "  attempt 10-1000 !TaskFailed",
      "    submit 10-20",
      "    remote queue 20-1000",
      "  pending 1000-11000",
      "  attempt 11000-20000",
      "    submit 11000-11500",
      "    remote run 11500-20000",
    ],
  },
  {
    name: "an unknown outcome, a halt, and a user who sends again",
    entries: [
      ["Submitting", 1, 10],
      ["Halted", 1, 2000],
      ["Pending", 2, 60_000],
      ["Submitting", 2, 60_100],
      ["Failed", 2, 61_000],
    ],
    status: failed("InvalidSpec"),
    expected: [
      "SpeechJob 0-61000 !InvalidSpec",
      "  pending 0-10",
      "  attempt 10-60000 !Unknown",
      "    submit 10-2000",
      "    halted 2000-60000",
      "  pending 60000-60100",
      "  attempt 60100-61000 !Failed",
      "    submit 60100-61000",
    ],
  },
  {
    name: "a request that the service did not take at first",
    entries: [
      ["Submitting", 1, 10],
      ["Pending", 1, 500, { reason: "InsufficientBalance" }],
      ["Submitting", 1, 9000],
      ["Succeeded", 1, 9500],
    ],
    expected: [
      "SpeechJob 0-9500",
      "  pending 0-10",
      "  attempt 10-9500",
      "    submit 10-500",
      "    pending 500-9000",
      "    submit 9000-9500",
    ],
  },
  {
    name: "a job that never sent anything",
    entries: [
      ["Pending", 1, 10],
      ["Failed", 1, 5000],
    ],
    status: failed("DeadlineExceeded"),
    expected: ["SpeechJob 0-5000 !DeadlineExceeded", "  pending 0-5000"],
  },
  {
    name: "a job that is deleted while its task runs",
    entries: [
      ["Submitting", 1, 10],
      ["Running", 1, 100],
    ],
    deletedAtMs: 7000,
    expected: [
      "SpeechJob 0-7000",
      "  pending 0-10",
      "  attempt 10-7000",
      "    submit 10-100",
      "    remote run 100-7000",
    ],
  },
  {
    name: "a job that an earlier version finished, without a timeline",
    entries: [],
    status: { phase: "Succeeded", completionTime: at(4000) },
    expected: ["SpeechJob 0-4000"],
  },
  {
    name: "a clock that was behind that of the API server",
    entries: [
      ["Submitting", 1, -900],
      ["Succeeded", 1, -100],
    ],
    expected: ["SpeechJob -900--100", "  pending -900--900", "  attempt -900--100", "    submit -900--100"],
  },
];

describe("the trace of a job shows", () => {
  it.each(ROWS)("$name", ({ entries, status, deletedAtMs, expected }) => {
    const spans = spansOf(entries, status, deletedAtMs);
    expect(treeOf(spans, created)).toEqual(expected);
    expectWellFormed(spans);
  });

  it("nothing before the job has ended", () => {
    expect(spansOf([["Submitting", 1, 10]])).toEqual([]);
  });

  it("who, what and how it ended, and the task of each attempt", () => {
    const spans = spansOf(ROWS[2]?.entries ?? [], { attempts: 2 });
    expect(spans[0]?.attributes).toEqual({
      "mooring.operation": "submitSpeech",
      "k8s.namespace.name": "team",
      "mooring.kind": "SpeechJob",
      "mooring.name": "sea",
      "mooring.uid": "bbbbbbbb-0000-0000-0000-000000000001",
      "mooring.outcome": "Succeeded",
      "mooring.attempts": 2,
    });
    const attempts = spans.filter(({ name }) => name === "attempt").map(({ attributes }) => attributes);
    expect(attempts).toEqual([
      { "mooring.attempt": 1, "mooring.outcome": "TaskFailed", "mooring.task.id": "t-1" },
      { "mooring.attempt": 2, "mooring.outcome": "Succeeded", "mooring.task.id": "t-2" },
    ]);
  });

  it("the same IDs whichever process builds it", () => {
    const entries = ROWS[2]?.entries ?? [];
    expect(spansOf(entries)).toEqual(spansOf(entries));
  });

  it("a whole, whatever the timeline", () => {
    const phases = fc.constantFrom(...jobPhases.filter((phase) => phase !== "Succeeded" && phase !== "Failed"));
    const steps = fc.array(fc.tuple(phases, fc.boolean(), fc.nat(5000)), { maxLength: 12 });
    fc.assert(
      fc.property(steps, (moves) => {
        let [attempt, ms] = [1, 0];
        const entries = moves.map(([phase, next, later]): Entry => {
          if (next && phase === "Pending") attempt += 1;
          ms += later;
          return [phase, attempt, ms];
        });
        expectWellFormed(spansOf([...entries, ["Succeeded", attempt, ms + 1]]));
      }),
    );
  });
});
