import { heading, number, row } from "./markdown.ts";
import type { Measurement, ScenarioName } from "./scenario-figures.ts";
import {
  BILLS_ROWS,
  churnRows,
  cliRows,
  JOBS_ROWS,
  LATENCY_ROWS,
  type Row,
  restRows,
  streamRows,
  takeoverRows,
} from "./scenario-rows.ts";

/** The size of a measurement: the head of its column. */
export function sizeText(measurement: Measurement): string {
  switch (measurement.scenario) {
    case "churn":
    case "latency":
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
    case "cli":
      return `${shown(measurement.size.starts)} starts`;
  }
}

const shown = (value: number) => value.toLocaleString("en-US");

/** What a scenario does, in lines of the page. */
const TITLES: Readonly<Record<ScenarioName, { title: string; text: readonly string[] }>> = {
  churn: {
    title: "Churn",
    text: [
      "The spec of every endpoint changes at once (`workers.max`), while all are Ready. Times, CPU and reconciles are the median of the rounds.",
      "Needless updates are counted when the operator has read the list of the service once more.",
    ],
  },
  latency: {
    title: "Latency of a change",
    text: [
      "The spec of single endpoints changes (`workers.max`), one after the other, while all others are at rest. Mooring reads the endpoint before",
      "the update, and the service takes 5 ms for each response.",
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
  cli: {
    title: "Start of commands",
    text: ["Medians. Each start is a new process, with the files in the cache of the operating system."],
  },
};

/** A table for each scenario that was measured, with a column for each size. */
export function scenariosText(measurements: readonly Measurement[]): string[] {
  const churn = measurements.filter((one) => one.scenario === "churn");
  const rest = measurements.filter((one) => one.scenario === "rest");
  const cli = measurements.filter((one) => one.scenario === "cli");
  const takeover = measurements.filter((one) => one.scenario === "takeover");
  const stream = measurements.filter((one) => one.scenario === "stream");
  return [
    ...tableText("churn", churn, churnRows(churn)),
    ...tableText(
      "latency",
      measurements.filter((one) => one.scenario === "latency"),
      LATENCY_ROWS,
    ),
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
    ...tableText("cli", cli, cliRows(cli)),
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
