import { type Counts, withoutZeros } from "./counts.ts";

/** The sum of a metric's series whose labels contain `labels`, in Prometheus' text format. */
export function metric(text: string, name: string, labels = ""): number {
  return seriesOf(text, name)
    .filter((line) => line.includes(labels))
    .reduce((sum, line) => sum + lastNumber(line), 0);
}

/** The sums of a metric's series by the values of a label. */
export function metricBy(text: string, name: string, label: string): Counts {
  const sums = new Map<string, number>();
  for (const line of seriesOf(text, name)) {
    const value = new RegExp(`[{,]${label}="([^"]*)"`).exec(line)?.[1] ?? "";
    sums.set(value, (sums.get(value) ?? 0) + lastNumber(line));
  }
  return withoutZeros([...sums]);
}

function seriesOf(text: string, name: string): string[] {
  return text.split("\n").filter((line) => line.startsWith(name) && !/^[a-z_]/.test(line.slice(name.length)));
}

const lastNumber = (line: string) => Number(line.slice(line.lastIndexOf(" ")));
