const mean = (values: readonly number[]) => values.reduce((sum, one) => sum + one, 0) / values.length;
const p95 = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * 0.95)] ?? 0;

/** How many times as long jobs wait beside others as they do with an account of their own. */
export function waitRatios(beside: readonly number[], own: readonly number[]): { mean: number; p95: number } {
  return { mean: mean(beside) / mean(own), p95: p95(beside) / p95(own) };
}
