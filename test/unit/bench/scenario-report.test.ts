import { describe, expect, it } from "vitest";
import { NO_FIGURES, withScenario } from "../../../bench/figures.ts";
import { figuresText } from "../../../bench/report.ts";
import type { Churn, Measurement } from "../../../bench/scenario-figures.ts";
import { scenariosText } from "../../../bench/scenario-report.ts";

const machine = {
  cores: 2,
  cpu: "CPU",
  memoryGiB: 8,
  kernel: "6.1",
  node: "24.9.0",
  go: "1.26",
  kubernetes: "v1.36.0",
  load: 0.5,
  date: "2026-03-01T00:00:00Z",
};

const churnRound = (seconds: number, remoteCalls: Record<string, number>) => ({
  patchSeconds: 1,
  seconds,
  costs: { cpuSeconds: seconds / 10, reconciles: 120, apiRequests: { patch: 100 }, remoteCalls },
});
const churn: Churn = {
  scenario: "churn",
  machine,
  size: { endpoints: 100 },
  rounds: [churnRound(3, { update: 100 }), churnRound(2, { update: 102, "list-v2": 2 })],
  updates: 202,
};
const costs = { cpuSeconds: 1, reconciles: 60, apiRequests: { get: 5 }, remoteCalls: { "list-v2": 1 } };

/** One measurement of each scenario. */
const all: readonly Measurement[] = [
  churn,
  {
    scenario: "latency",
    machine,
    size: { endpoints: 10_000 },
    changes: 200,
    storeMs: { median: 4, p99: 9 },
    updateMs: { median: 11, p99: 45 },
    readyMs: { median: 30, p99: 90 },
  },
  {
    scenario: "rest",
    machine,
    size: { endpoints: 1_000 },
    rest: {
      cpuMsPerMinute: 580,
      apiRequestsPerMinute: 8,
      remoteCallsPerMinute: 10,
      reconcilesPerMinute: 5,
      apiRequests: { update: 6, get: 2 },
      remoteCalls: { "list-v2": 10 },
      lagP99Ms: 20,
      residentMiB: 120,
      heapMiB: 25,
    },
  },
  {
    scenario: "jobs",
    machine,
    size: { jobs: 100, rate: 10 },
    shortestSeconds: 20,
    longestSeconds: 60,
    ended: 150,
    latencySeconds: { median: 1.25, p95: 3.5, longest: 4 },
    afterPollMs: { median: 12, p99: 80 },
    pollsPerTask: 3,
    writesPerJob: 4.75,
    duplicates: 0,
  },
  {
    scenario: "takeover",
    machine,
    size: { endpoints: 1_000, jobs: 20 },
    runningJobs: 20,
    serverSeconds: 16.3,
    firstCallSeconds: 16.8,
    changeSeconds: 17.3,
    steadySeconds: 18.3,
    costs,
    duplicates: { creates: 0, submits: 1, updates: 0 },
  },
  {
    scenario: "stream",
    machine,
    size: { audioMinutes: 20, timeScale: 0.075 },
    seconds: 92,
    beforeMiB: 118,
    firstHalfMiB: 164,
    secondHalfMiB: 170,
    storedMiB: { volume: 73.2, s3: 73.2 },
    firstAudioMs: { volume: 800 },
    paidCalls: 2,
  },
  {
    scenario: "bills",
    machine: { ...machine, kubernetes: "" },
    size: { records: 100_000 },
    first: { seconds: 20, calls: 14 },
    again: { seconds: 4, calls: 1 },
    csvMiB: 20,
    cpuSeconds: 12,
    longestBlockMs: 125,
    beforeMiB: 112,
    peakMiB: 171,
  },
  {
    scenario: "cli",
    machine: { ...machine, kubernetes: "" },
    size: { starts: 15 },
    commands: { "mooring --help": { medianMs: 180, lowestMs: 170, cpuMs: 200, peakMiB: 71 } },
  },
];

describe("the page of the scenarios", () => {
  it.each([
    { title: "## Churn", row: "| until all are Ready in the new generation, s | 3 |" },
    { title: "## Churn", row: "| CPU, ms per change | 3 |" },
    { title: "## Churn", row: "| remote calls per change: update | 1.01 |" },
    { title: "## Churn", row: "| remote calls per change: list-v2 | 0.01 |" },
    { title: "## Churn", row: "| needless updates; goal: 0 | 2 |" },
    {
      title: "## Latency of a change",
      row: "| from then until the update is at the service: p99, ms; goal: 100 | 45 |",
    },
    { title: "## Jobs under a rate limit", row: "| poll that shows the end to the status: p99, ms; goal: 100 | 80 |" },
    { title: "## Start of commands", row: "| `mooring --help`: median, ms | 180 |" },
    { title: "## Rest", row: "| remote calls per minute: list-v2 | 10 |" },
    { title: "## Rest", row: "| goal for remote calls: endpoints / page size of 100 | 10 |" },
    { title: "## Jobs under a rate limit", row: "| end of the task to the status: p95, s | 3.5 |" },
    { title: "## Takeover", row: "| duplicate requests; goal: 0 | 1 |" },
    { title: "## Streamed speech", row: "| stored with the right checksum, MiB: s3 | 73.2 |" },
    { title: "## Bills", row: "| same report again: remote calls | 1 |" },
  ])("$title has $row", ({ title, row }) => {
    const text = scenariosText(all).join("\n");
    const section = text.slice(text.indexOf(title)).split("\n## ")[0];
    expect(section).toContain(row);
  });

  it("has a column for each size, with 0 for an operation that another size did not need", () => {
    const larger: Churn = { ...churn, size: { endpoints: 2_000 }, rounds: [churnRound(9, { update: 2_000 })] };
    const text = scenariosText([churn, larger]).join("\n");
    expect(text).toContain("|  | 100 endpoints | 2,000 endpoints |");
    expect(text).toContain("| remote calls per change: list-v2 | 0.01 | 0 |");
  });

  it("shows the machine of each measurement, and no section for what was not measured", () => {
    const text = figuresText({ ...NO_FIGURES, scenarios: [churn] });
    expect(text).toContain("| churn, 100 endpoints | 2026-03-01T00:00:00Z | 2 (CPU) |");
    expect(text).not.toContain("## Bills");
  });

  it("has no line above 140 characters outside of tables", () => {
    const lines = scenariosText(all).filter((line) => !line.startsWith("|"));
    expect(lines.filter((line) => line.length > 140)).toEqual([]);
  });
});

it("a new measurement replaces the one of the same scenario and size; sizes are in order", () => {
  const again: Churn = { ...churn, updates: 200 };
  const larger: Churn = { ...churn, size: { endpoints: 2_000 } };
  const [, rest] = all;
  if (rest === undefined) throw new Error("no measurement of the rest");
  expect([rest, larger, churn, again].reduce(withScenario, NO_FIGURES).scenarios).toEqual([again, larger, rest]);
});
