import { type Counts, sumOf } from "./counts.ts";
import { PAGE_SIZE, spreadOf } from "./plots.ts";
import type { Bills, Churn, ChurnRound, Cli, Jobs, Latency, Rest, Stream, Takeover } from "./scenario-figures.ts";

/** What the page shows of a measurement. */
export type Row<T> = { title: string; of: (one: T) => number };

/** One row for each name that a measurement has; 0 where another measurement has it not. */
function rowsByName<T>(title: string, measurements: readonly T[], of: (one: T) => Counts): Row<T>[] {
  const names = new Set(measurements.flatMap((one) => Object.keys(of(one))));
  return [...names].sort().map((name) => ({ title: `${title}: ${name}`, of: (one) => of(one)[name] ?? 0 }));
}

/** The median of the rounds. */
function medianOf({ rounds }: Churn, of: (round: ChurnRound) => number): number {
  return spreadOf(rounds.map(of)).median;
}

/** The mean of all changes, by name. */
function perChange({ rounds, size }: Churn, of: (round: ChurnRound) => Counts): Counts {
  const names = new Set(rounds.flatMap((round) => Object.keys(of(round))));
  const total = (name: string) => rounds.reduce((sum, round) => sum + (of(round)[name] ?? 0), 0);
  return Object.fromEntries([...names].map((name) => [name, total(name) / (rounds.length * size.endpoints)]));
}

export function churnRows(measurements: readonly Churn[]): Row<Churn>[] {
  return [
    { title: "rounds", of: ({ rounds }) => rounds.length },
    { title: "until the API server has all changes, s", of: (one) => medianOf(one, (round) => round.patchSeconds) },
    { title: "until all are Ready in the new generation, s", of: (one) => medianOf(one, (round) => round.seconds) },
    {
      title: "CPU, ms per change",
      of: (one) => medianOf(one, ({ costs }) => (costs.cpuSeconds * 1_000) / one.size.endpoints),
    },
    {
      title: "reconciles per change",
      of: (one) => medianOf(one, ({ costs }) => costs.reconciles / one.size.endpoints),
    },
    ...rowsByName("API requests per change", measurements, (one) => perChange(one, ({ costs }) => costs.apiRequests)),
    ...rowsByName("remote calls per change", measurements, (one) => perChange(one, ({ costs }) => costs.remoteCalls)),
    { title: "changes", of: changesOf },
    { title: "needless updates; goal: 0", of: (one) => one.updates - changesOf(one) },
  ];
}

/** Each takes one update. */
export function changesOf({ rounds, size }: Churn): number {
  return rounds.length * size.endpoints;
}

export const LATENCY_ROWS: readonly Row<Latency>[] = [
  { title: "changes", of: ({ changes }) => changes },
  { title: "response of the API server to the change: median, ms", of: ({ storeMs }) => storeMs.median },
  {
    title: "from then until the update is at the service: median, ms; goal: 20",
    of: ({ updateMs }) => updateMs.median,
  },
  { title: "from then until the update is at the service: p99, ms; goal: 100", of: ({ updateMs }) => updateMs.p99 },
  { title: "from then until the status shows it as Ready: median, ms", of: ({ readyMs }) => readyMs.median },
  { title: "from then until the status shows it as Ready: p99, ms", of: ({ readyMs }) => readyMs.p99 },
];

export function restRows(measurements: readonly Rest[]): Row<Rest>[] {
  return [
    { title: "resident memory, MiB; goal for 1,000 endpoints: 85", of: ({ rest }) => rest.residentMiB },
    { title: "heap after a collection, MiB", of: ({ rest }) => rest.heapMiB },
    { title: "CPU, ms per minute", of: ({ rest }) => rest.cpuMsPerMinute },
    { title: "event loop delay p99, ms", of: ({ rest }) => rest.lagP99Ms },
    { title: "reconciles per minute", of: ({ rest }) => rest.reconcilesPerMinute },
    ...rowsByName("API requests per minute", measurements, ({ rest }) => rest.apiRequests),
    ...rowsByName("remote calls per minute", measurements, ({ rest }) => rest.remoteCalls),
    {
      title: `goal for remote calls: endpoints / page size of ${PAGE_SIZE}`,
      of: ({ size }) => Math.ceil(size.endpoints / PAGE_SIZE),
    },
  ];
}

export const JOBS_ROWS: readonly Row<Jobs>[] = [
  { title: "shortest task, s", of: ({ shortestSeconds }) => shortestSeconds },
  { title: "longest task, s", of: ({ longestSeconds }) => longestSeconds },
  { title: "ended jobs", of: ({ ended }) => ended },
  { title: "end of the task to the status: median, s", of: ({ latencySeconds }) => latencySeconds.median },
  { title: "end of the task to the status: p95, s", of: ({ latencySeconds }) => latencySeconds.p95 },
  { title: "end of the task to the status: longest, s", of: ({ latencySeconds }) => latencySeconds.longest },
  { title: "poll that shows the end to the status: median, ms", of: ({ afterPollMs }) => afterPollMs.median },
  { title: "poll that shows the end to the status: p99, ms; goal: 100", of: ({ afterPollMs }) => afterPollMs.p99 },
  { title: "polls per task", of: ({ pollsPerTask }) => pollsPerTask },
  { title: "writes per job", of: ({ writesPerJob }) => writesPerJob },
  { title: "duplicate paid requests; goal: 0", of: ({ duplicates }) => duplicates },
];

export function takeoverRows(measurements: readonly Takeover[]): Row<Takeover>[] {
  return [
    { title: "running jobs", of: ({ runningJobs }) => runningJobs },
    { title: "until another process serves the account, s", of: ({ serverSeconds }) => serverSeconds },
    { title: "until its first remote call, s", of: ({ firstCallSeconds }) => firstCallSeconds },
    { title: "until the change is Ready, s", of: ({ changeSeconds }) => changeSeconds },
    { title: "until no object waits for a reconcile, s", of: ({ steadySeconds }) => steadySeconds },
    { title: "CPU until then, s", of: ({ costs }) => costs.cpuSeconds },
    { title: "reconciles until then", of: ({ costs }) => costs.reconciles },
    ...rowsByName("API requests until then", measurements, ({ costs }) => costs.apiRequests),
    ...rowsByName("remote calls until then", measurements, ({ costs }) => costs.remoteCalls),
    { title: "duplicate requests; goal: 0", of: ({ duplicates }) => sumOf(duplicates) },
  ];
}

export function streamRows(measurements: readonly Stream[]): Row<Stream>[] {
  return [
    { title: "time of both streams, s", of: ({ seconds }) => seconds },
    { title: "resident memory before, MiB", of: ({ beforeMiB }) => beforeMiB },
    { title: "at most in the first half, MiB", of: ({ firstHalfMiB }) => firstHalfMiB },
    { title: "at most in the second half, MiB", of: ({ secondHalfMiB }) => secondHalfMiB },
    ...rowsByName("stored with the right checksum, MiB", measurements, ({ storedMiB }) => storedMiB),
    ...rowsByName("first audio, ms", measurements, ({ firstAudioMs }) => firstAudioMs),
    { title: "paid calls; goal: 2", of: ({ paidCalls }) => paidCalls },
  ];
}

export const BILLS_ROWS: readonly Row<Bills>[] = [
  { title: "first report, s", of: ({ first }) => first.seconds },
  { title: "first report: remote calls", of: ({ first }) => first.calls },
  { title: "same report again, s", of: ({ again }) => again.seconds },
  { title: "same report again: remote calls", of: ({ again }) => again.calls },
  { title: "CPU of both, s", of: ({ cpuSeconds }) => cpuSeconds },
  { title: "longest time without another event, ms", of: ({ longestBlockMs }) => longestBlockMs },
  { title: "CSV, MiB", of: ({ csvMiB }) => csvMiB },
  { title: "resident memory before, MiB", of: ({ beforeMiB }) => beforeMiB },
  { title: "resident memory at most, MiB", of: ({ peakMiB }) => peakMiB },
];

export function cliRows(measurements: readonly Cli[]): Row<Cli>[] {
  const names = new Set(measurements.flatMap(({ commands }) => Object.keys(commands)));
  return [...names].flatMap((name) => [
    { title: `\`${name}\`: median, ms`, of: ({ commands }: Cli) => commands[name]?.medianMs ?? Number.NaN },
    { title: `\`${name}\`: CPU, ms`, of: ({ commands }: Cli) => commands[name]?.cpuMs ?? Number.NaN },
    { title: `\`${name}\`: memory, MiB`, of: ({ commands }: Cli) => commands[name]?.peakMiB ?? Number.NaN },
  ]);
}
