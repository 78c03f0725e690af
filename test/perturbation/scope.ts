/**
 * `npm run test:full` runs a sample, with `--only perturbation --long` everything. `--select` names scenarios by parts of their names,
 * separated by commas, `--parallel` is the number of operators that run at once, and `--seed` selects another sample.
 */
const text = (name: string) => process.env[`MOORING_PERTURB${name}`];

export const FULL = text("") === "1";
export const PARALLEL = Number(text("_PARALLEL") ?? (FULL ? 12 : 6));
const ONLY = text("_ONLY");
const SEED = Number(text("_SEED") ?? 1);

export type Perturbed = "Crash" | "StaleState" | "MissedEvent";

/** The scenarios of the sample: none waits a minute for the outcome of a create. */
const SAMPLED: Record<Perturbed, readonly string[]> = {
  Crash: ["endpoint: update", "speech, asynchronous"],
  StaleState: ["speech, synchronous"],
  MissedEvent: ["endpoint: suspend and resume"],
};
const RUNS_PER_SCENARIO = 2;

export function inScope(scenario: string, perturbed: Perturbed): boolean {
  if (ONLY !== undefined) return ONLY.split(",").some((part) => scenario.includes(part));
  return FULL || SAMPLED[perturbed].includes(scenario);
}

/** Items at equal distances, beginning at another one for each seed and scenario. */
export function sampleOf<T>(scenario: string, points: readonly T[]): T[] {
  if (FULL || points.length <= RUNS_PER_SCENARIO) return [...points];
  const step = points.length / RUNS_PER_SCENARIO;
  const first = (SEED * 7 + scenario.length) % Math.ceil(step);
  return Array.from(
    { length: RUNS_PER_SCENARIO },
    (_, index) => points[Math.floor(first + index * step) % points.length],
  ).filter((point) => point !== undefined);
}
