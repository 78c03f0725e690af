import type { RunResult } from "./scenario/run.ts";

/** What a worker tells of a seed. */
export type SeedReport = Omit<RunResult, "plan" | "counts" | "lastLines"> & {
  seed: number;
  counts: Record<string, number>;
  tookMs: number;
  /** With `--places`: the places that ran. */
  reached?: number[] | undefined;
};

export type Totals = {
  seeds: number;
  failed: SeedReport[];
  simulatedMs: number;
  steps: number;
  tookMs: number;
  crashes: number;
  starts: number;
  paid: number;
  faults: Record<string, number>;
  exits: Record<string, number>;
};

export function totalsOf(reports: readonly SeedReport[]): Totals {
  const totals: Totals = {
    seeds: reports.length,
    failed: reports.filter(({ violation }) => violation !== undefined),
    simulatedMs: 0,
    steps: 0,
    tookMs: 0,
    crashes: 0,
    starts: 0,
    paid: 0,
    faults: {},
    exits: {},
  };
  for (const report of reports) {
    for (const key of ["simulatedMs", "steps", "tookMs", "crashes", "starts", "paid"] as const) {
      totals[key] += report[key];
    }
    addCounts(totals.faults, report.counts);
    addCounts(totals.exits, report.exits);
  }
  return totals;
}

function addCounts(to: Record<string, number>, counts: Record<string, number>): void {
  for (const [name, count] of Object.entries(counts)) to[name] = (to[name] ?? 0) + count;
}

export function totalsText(totals: Totals, wallMs: number): string {
  const hours = (totals.simulatedMs / 3_600_000).toFixed(1);
  const rate = Math.round(totals.steps / (wallMs / 1_000));
  const shown = (counts: Record<string, number>) =>
    Object.entries(counts)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, count]) => `${name} ${count}`)
      .join(", ");
  return [
    `${totals.seeds} seeds, ${totals.failed.length} failed; ${hours} simulated hours in ${Math.round(wallMs / 1_000)} s`,
    `${totals.steps} steps, ${rate} a second; ${totals.starts} starts, ${totals.crashes} crashes; ${totals.paid} paid requests`,
    `exits: ${shown(totals.exits)}`,
    `faults: ${shown(totals.faults)}`,
  ].join("\n");
}
