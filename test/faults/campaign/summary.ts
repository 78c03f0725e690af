import { tableOf } from "../../../src/cli/table.ts";
import type { RunReport } from "./run.ts";

const COUNTS = [
  "RUNS",
  "JOBS",
  "ENDPOINTS",
  "KILLS",
  "FAULTS",
  "DUPLICATES",
  "LOST RESULTS",
  "WRONG STATUSES",
  "UNSETTLED",
  "SECONDS",
] as const;

/** One row per switch, one for all random combinations, and their sum. */
export function summaryOf(reports: readonly RunReport[]): string {
  const bySwitch = Map.groupBy(reports, ({ name, switches }) => (switches === 1 ? name : "random combinations"));
  const rows = [...bySwitch].map(([name, runs]) => rowOf(name, runs));
  return tableOf(["SWITCH", ...COUNTS], [...rows, rowOf("all", reports)], COUNTS);
}

function rowOf(name: string, runs: readonly RunReport[]): string[] {
  const sum = (count: (report: RunReport) => number) => runs.reduce((total, report) => total + count(report), 0);
  const counts = [
    runs.length,
    sum(({ options }) => options.jobs),
    sum(({ options }) => options.endpoints),
    sum(({ options }) => options.kills),
    sum(({ faults }) => faults),
    sum(({ duplicates }) => duplicates.length),
    sum(({ losses }) => losses.length),
    sum(({ contradictions }) => contradictions.length),
    sum(({ wrong }) => wrong.length),
    Math.round(sum(({ tookMs }) => tookMs) / 1_000),
  ];
  return [name, ...counts.map(String)];
}
