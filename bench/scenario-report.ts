import { type Counts, sumOf } from "./counts.ts";
import { heading, number, row } from "./markdown.ts";
import { PAGE_SIZE, spreadOf } from "./plots.ts";
import type {
  Bills,
  Churn,
  ChurnRound,
  Jobs,
  Measurement,
  Rest,
  ScenarioName,
  Stream,
  Takeover,
} from "./scenario-figures.ts";

type Row<T> = { title: string; of: (one: T) => number };

/** The size of a measurement: the head of its column. */
export function sizeText(measurement: Measurement): string {
  switch (measurement.scenario) {
    case "churn":
    case "rest":
      return `${shown(measurement.size.endpoints)} endpoints`;
    case "jobs":
      return `${shown(measurement.size.jobs)} jobs, ${number(measurement.size.rate)} requests a second`;
    case "takeover":
      return `${shown(measurement.size.endpoints)} endpoints, ${shown(measurement.size.jobs)} jobs`;
    case "stream":
      return `${number(measurement.size.audioMinutes)} minutes, time scale ${measurement.size.timeScale}`;
    case "bills":
      return `${shown(measurement.size.records)} bills`;
  }
}

const shown = (value: number) => value.toLocaleString("en-US");

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

function churnRows(measurements: readonly Churn[]): Row<Churn>[] {
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

function restRows(measurements: readonly Rest[]): Row<Rest>[] {
  return [
    { title: "resident memory, MiB", of: ({ rest }) => rest.residentMiB },
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

const JOBS_ROWS: readonly Row<Jobs>[] = [
  { title: "shortest task, s", of: ({ shortestSeconds }) => shortestSeconds },
  { title: "longest task, s", of: ({ longestSeconds }) => longestSeconds },
  { title: "ended jobs", of: ({ ended }) => ended },
  { title: "end of the task to the status: median, s", of: ({ latencySeconds }) => latencySeconds.median },
  { title: "end of the task to the status: p95, s", of: ({ latencySeconds }) => latencySeconds.p95 },
  { title: "end of the task to the status: longest, s", of: ({ latencySeconds }) => latencySeconds.longest },
  { title: "polls per task", of: ({ pollsPerTask }) => pollsPerTask },
  { title: "writes per job", of: ({ writesPerJob }) => writesPerJob },
  { title: "duplicate paid requests; goal: 0", of: ({ duplicates }) => duplicates },
];

function takeoverRows(measurements: readonly Takeover[]): Row<Takeover>[] {
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

function streamRows(measurements: readonly Stream[]): Row<Stream>[] {
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

const BILLS_ROWS: readonly Row<Bills>[] = [
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

/** What a scenario does, in lines of the page. */
const TITLES: Readonly<Record<ScenarioName, { title: string; text: readonly string[] }>> = {
  churn: {
    title: "Churn",
    text: [
      "The spec of every endpoint changes at once (`workers.max`), while all are Ready. Times, CPU and reconciles are the median of the rounds.",
      "Needless updates are counted when the operator has read the list of the service once more.",
    ],
  },
  rest: { title: "Rest", text: ["All endpoints are Ready, and nothing changes."] },
  jobs: {
    title: "Jobs under a rate limit",
    text: ["VideoJobs. A new one follows each that has ended, so that the same number runs all the time."],
  },
  takeover: {
    title: "Takeover",
    text: [
      "`kill -9` of the process that serves the account, beside another one, while jobs run. Right after it, the spec of one endpoint changes.",
      "A lease lasts 15 s. All times are from the kill. The duplicates are counted when every job has succeeded.",
    ],
  },
  stream: {
    title: "Streamed speech",
    text: [
      "Two streams at once: one into a volume, one into S3. The size is the audio of each. The time of the stream is",
      "multiplied by the time scale.",
    ],
  },
  bills: {
    title: "Bills",
    text: ["A report over fourteen months with a CSV file, twice in the same process. Its sums equal straight ones."],
  },
};

/** A table for each scenario that was measured, with a column for each size. */
export function scenariosText(measurements: readonly Measurement[]): string[] {
  const churn = measurements.filter((one) => one.scenario === "churn");
  const rest = measurements.filter((one) => one.scenario === "rest");
  const takeover = measurements.filter((one) => one.scenario === "takeover");
  const stream = measurements.filter((one) => one.scenario === "stream");
  return [
    ...tableText("churn", churn, churnRows(churn)),
    ...tableText("rest", rest, restRows(rest)),
    ...tableText(
      "jobs",
      measurements.filter((one) => one.scenario === "jobs"),
      JOBS_ROWS,
    ),
    ...tableText("takeover", takeover, takeoverRows(takeover)),
    ...tableText("stream", stream, streamRows(stream)),
    ...tableText(
      "bills",
      measurements.filter((one) => one.scenario === "bills"),
      BILLS_ROWS,
    ),
  ];
}

function tableText<T extends Measurement>(
  name: ScenarioName,
  measurements: readonly T[],
  rows: readonly Row<T>[],
): string[] {
  if (measurements.length === 0) return [];
  const { title, text } = TITLES[name];
  return [
    `## ${title}`,
    "",
    ...text,
    "",
    ...heading("", ...measurements.map(sizeText)),
    ...rows.map(({ title, of }) => row(title, ...measurements.map((one) => number(of(one))))),
    "",
  ];
}
