import { z } from "zod";
import { machine } from "./machine.ts";

const counts = z.record(z.string(), z.number());

/** Of the operator, until no object waits for a reconcile. */
const costs = z.object({
  cpuSeconds: z.number(),
  reconciles: z.number(),
  /** By verb. */
  apiRequests: counts,
  /** By operation. */
  remoteCalls: counts,
});

/** An operator at rest. */
export const restFigures = z.object({
  cpuMsPerMinute: z.number(),
  apiRequestsPerMinute: z.number(),
  remoteCallsPerMinute: z.number(),
  reconcilesPerMinute: z.number(),
  /** A minute, by verb and by operation. */
  apiRequests: counts.default({}),
  remoteCalls: counts.default({}),
  lagP99Ms: z.number(),
  residentMiB: z.number(),
  /** After a garbage collection. */
  heapMiB: z.number(),
});
export type RestFigures = z.output<typeof restFigures>;

const churnRound = z.object({
  /** Until the API server has accepted every change. */
  patchSeconds: z.number(),
  /** Until every endpoint is Ready in its new generation. */
  seconds: z.number(),
  costs,
});
export type ChurnRound = z.output<typeof churnRound>;

const churn = z.object({
  scenario: z.literal("churn"),
  machine,
  size: z.object({ endpoints: z.number() }),
  rounds: z.array(churnRound),
  /** Of all rounds, until the list of the service was read again after the last one. */
  updates: z.number(),
});
export type Churn = z.output<typeof churn>;

const quantiles = z.object({ median: z.number(), p99: z.number() });

const latency = z.object({
  scenario: z.literal("latency"),
  machine,
  /** Of all endpoints: those that do not change are at rest. */
  size: z.object({ endpoints: z.number() }),
  changes: z.number(),
  /** Of the API server, for the change. */
  storeMs: quantiles,
  /** From the response of the API server to the change until the update arrives at the service. */
  updateMs: quantiles,
  /** From the same response until the status shows the change as Ready. */
  readyMs: quantiles,
});
export type Latency = z.output<typeof latency>;

const start = z.object({
  medianMs: z.number(),
  lowestMs: z.number(),
  /** Median, user and system time. */
  cpuMs: z.number(),
  /** Median. */
  peakMiB: z.number(),
});

const cli = z.object({
  scenario: z.literal("cli"),
  machine,
  /** Starts of each command. */
  size: z.object({ starts: z.number() }),
  /** By command line. */
  commands: z.record(z.string(), start),
});
export type Cli = z.output<typeof cli>;

const rest = z.object({
  scenario: z.literal("rest"),
  machine,
  size: z.object({ endpoints: z.number() }),
  rest: restFigures,
});
export type Rest = z.output<typeof rest>;

const jobs = z.object({
  scenario: z.literal("jobs"),
  machine,
  /** Jobs that run at once, and requests a second of the account. */
  size: z.object({ jobs: z.number(), rate: z.number() }),
  /** Of a task. */
  shortestSeconds: z.number(),
  longestSeconds: z.number(),
  ended: z.number(),
  /** From the end of a task at the service to the job's status. */
  latencySeconds: z.object({ median: z.number(), p95: z.number(), longest: z.number() }),
  /** From the poll that shows the end to the job's status: what comes beyond the poll interval. */
  afterPollMs: quantiles,
  pollsPerTask: z.number(),
  writesPerJob: z.number(),
  /** Paid requests beyond one for each job. */
  duplicates: z.number(),
});
export type Jobs = z.output<typeof jobs>;

const takeover = z.object({
  scenario: z.literal("takeover"),
  machine,
  size: z.object({ endpoints: z.number(), jobs: z.number() }),
  /** Jobs without an end when the process is killed. */
  runningJobs: z.number(),
  /** From the kill until another process serves the account. */
  serverSeconds: z.number(),
  firstCallSeconds: z.number(),
  /** Until an endpoint whose spec changed right after the kill is Ready in its new generation. */
  changeSeconds: z.number(),
  /** Until no object waits for a reconcile. */
  steadySeconds: z.number(),
  /** Of the other process, from the kill until then. */
  costs,
  /** Requests beyond one for each endpoint, job and change, when every job has succeeded. */
  duplicates: z.object({ creates: z.number(), submits: z.number(), updates: z.number() }),
});
export type Takeover = z.output<typeof takeover>;

const stream = z.object({
  scenario: z.literal("stream"),
  machine,
  size: z.object({ audioMinutes: z.number(), timeScale: z.number() }),
  seconds: z.number(),
  /** Resident memory: before the streams, and at most in the first and the second half of them. */
  beforeMiB: z.number(),
  firstHalfMiB: z.number(),
  secondHalfMiB: z.number(),
  /** By store. */
  storedMiB: counts,
  firstAudioMs: counts,
  paidCalls: z.number(),
});
export type Stream = z.output<typeof stream>;

const billReading = z.object({ seconds: z.number(), calls: z.number() });

const bills = z.object({
  scenario: z.literal("bills"),
  machine,
  size: z.object({ records: z.number() }),
  first: billReading,
  again: billReading,
  csvMiB: z.number(),
  /** Of both readings. */
  cpuSeconds: z.number(),
  longestBlockMs: z.number(),
  beforeMiB: z.number(),
  peakMiB: z.number(),
});
export type Bills = z.output<typeof bills>;

export const measurement = z.discriminatedUnion("scenario", [churn, latency, rest, jobs, takeover, stream, bills, cli]);
/** One scenario in one size. */
export type Measurement = z.output<typeof measurement>;
export type ScenarioName = Measurement["scenario"];

/** In the order of the page. */
export const SCENARIO_NAMES: readonly ScenarioName[] = [
  "churn",
  "latency",
  "rest",
  "jobs",
  "takeover",
  "stream",
  "bills",
  "cli",
];

/** Replaces the measurement of the same scenario and size. */
export function withMeasurement(present: readonly Measurement[], added: Measurement): Measurement[] {
  const others = present.filter((one) => keyOf(one) !== keyOf(added));
  return [...others, added].sort(
    (a, b) => SCENARIO_NAMES.indexOf(a.scenario) - SCENARIO_NAMES.indexOf(b.scenario) || compareSizes(a.size, b.size),
  );
}

const keyOf = ({ scenario, size }: Measurement) => `${scenario} ${Object.values(size).join(" ")}`;

function compareSizes(a: Measurement["size"], b: Measurement["size"]): number {
  const others = Object.values(b);
  return Object.values(a).reduce((order, value, index) => order || value - (others[index] ?? 0), 0);
}
