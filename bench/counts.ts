/** Numbers by name, such as calls by operation. */
export type Counts = Readonly<Record<string, number>>;

/** What was counted after `before`, without what did not change. */
export function countsBetween(before: Counts, after: Counts): Counts {
  return withoutZeros(Object.entries(after).map(([name, count]) => [name, count - (before[name] ?? 0)]));
}

export function withoutZeros(entries: readonly (readonly [string, number])[]): Counts {
  return Object.fromEntries(entries.filter(([, count]) => count !== 0));
}

export function sumOf(counts: Counts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

export function dividedBy(counts: Counts, divisor: number): Counts {
  return Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, count / divisor]));
}
