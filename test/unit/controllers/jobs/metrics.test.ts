import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { PENDING_STATUS } from "../../../../src/api/v1alpha1/meta.ts";
import type { SpeechJobStatus } from "../../../../src/api/v1alpha1/speech-job.ts";
import { createJobMetrics } from "../../../../src/controllers/jobs/metrics.ts";
import { createMetrics } from "../../../../src/runtime/metrics.ts";
import { START } from "../../../support/fake-clock.ts";
import { speechJobOf, videoJobOf } from "../../../support/jobs.ts";

const timeAfter = (seconds: number) => new Date(START + seconds * 1000).toISOString();
const account = { kind: "Account", name: "default", baseURL: "http://service" } as const;
/** A job that was created at START. */
const created = (name: string, status: Partial<SpeechJobStatus> = {}, change = {}) => {
  const job = speechJobOf("hd", change, { ...PENDING_STATUS, ...status });
  return { ...job, metadata: { ...job.metadata, name, namespace: "team-a", creationTimestamp: timeAfter(0) } };
};

it("jobs are counted by kind and phase, each once, with every phase at hand", async () => {
  const registry = new Registry();
  let speech = [
    speechJobOf("hd"),
    speechJobOf("hd", {}, { ...PENDING_STATUS, phase: "Pending" }),
    speechJobOf("hd", {}, { ...PENDING_STATUS, phase: "Halted" }),
  ];
  const jobs = {
    SpeechJob: () => speech,
    VideoJob: () => [videoJobOf("image", {}, { ...PENDING_STATUS, phase: "Running" })],
  };
  createJobMetrics(registry, { jobs, accountOf: () => undefined, clock: { now: () => START } });
  const lines = (await registry.metrics()).split("\n");
  expect(lines).toContain('mooring_jobs{kind="SpeechJob",phase="Pending"} 2');
  expect(lines).toContain('mooring_jobs{kind="SpeechJob",phase="Halted"} 1');
  expect(lines).toContain('mooring_jobs{kind="SpeechJob",phase="Running"} 0');
  expect(lines).toContain('mooring_jobs{kind="VideoJob",phase="Running"} 1');
  speech = [];
  expect((await registry.metrics()).split("\n")).toContain('mooring_jobs{kind="SpeechJob",phase="Halted"} 0');
});

it("jobs that wait to be sent are counted by account and namespace, with the age of the oldest", async () => {
  const registry = new Registry();
  const stalled = {
    type: "Stalled",
    status: "True",
    reason: "NoSuchStore",
    message: "",
    lastTransitionTime: timeAfter(0),
  } as const;
  const young = created("young");
  const jobs = [
    created("old"),
    { ...young, metadata: { ...young.metadata, creationTimestamp: timeAfter(50) } },
    created("sent", { phase: "Queued" }),
    created("again", { phase: "Pending", firstSubmitTime: timeAfter(5) }),
    created("suspended", {}, { suspend: true }),
    created("stalled", { conditions: [stalled] }),
  ];
  createJobMetrics(registry, {
    jobs: { SpeechJob: () => jobs },
    accountOf: ({ metadata }) => `Account/${metadata.namespace}/default`,
    clock: { now: () => START + 60_000 },
  });
  const text = await registry.metrics();
  const labels = 'account="Account/team-a/default",namespace="team-a"';
  expect(text).toContain(`mooring_namespace_jobs_waiting{${labels}} 2\n`);
  expect(text).toContain(`mooring_namespace_jobs_waiting_oldest_seconds{${labels}} 60\n`);
});

describe("how long jobs wait and take", () => {
  const labels = 'account="Account/team-a/default",kind="SpeechJob"';
  const options = { jobs: {}, accountOf: () => undefined, clock: { now: () => START } };
  const sent = { ...PENDING_STATUS, account, phase: "Queued", firstSubmitTime: timeAfter(20) } as const;
  const ended = { ...sent, phase: "Succeeded", completionTime: timeAfter(90) } as const;

  it("each is observed once, when the status shows it first", async () => {
    const registry = new Registry();
    const metrics = createJobMetrics(registry, options);
    metrics.moved("SpeechJob", created("a"), sent);
    metrics.moved("SpeechJob", created("a", sent), { ...sent, phase: "Running" });
    metrics.moved("SpeechJob", created("a", sent), ended);
    metrics.moved("SpeechJob", created("a", ended), ended);
    const text = await registry.metrics();
    const lines = text.split("\n");
    expect(lines).toContain(`mooring_job_wait_seconds_sum{${labels}} 20`);
    expect(lines).toContain(`mooring_job_wait_seconds_count{${labels}} 1`);
    expect(lines).toContain(`mooring_job_duration_seconds_sum{${labels},phase="Succeeded"} 90`);
    expect(text).not.toContain("trace_id");
  });

  it("with traces, an observation names the trace of its job", async () => {
    const { registry } = createMetrics({ process: false, exemplars: true });
    const metrics = createJobMetrics(registry, {
      ...options,
      traceIDOf: ({ metadata }) => `trace-of-${metadata.name}`,
    });
    metrics.moved("SpeechJob", created("a"), sent);
    metrics.moved("SpeechJob", created("b", sent), ended);
    const text = await registry.metrics();
    expect(text).toMatch(/mooring_job_wait_seconds_bucket\{le="30".*\} 1 # \{trace_id="trace-of-a"\} 20 /);
    expect(text).toMatch(/mooring_job_duration_seconds_bucket\{le="120".*\} 1 # \{trace_id="trace-of-b"\} 90 /);
    expect(text.trimEnd().endsWith("# EOF")).toBe(true);
  });
});
