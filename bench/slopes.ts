/** One reading of everything that must not grow. `at`: ms of a monotonic clock. */
export type Sample = { at: number; values: Readonly<Record<string, number>> };

export type Slope = { name: string; first: number; last: number; perHour: number };

const HOUR_MS = 3_600_000;

/**
 * The straight line through the samples (least squares), for each value. A value that saws, such as a heap, is first reduced to
 * its lowest sample in each of `windows` windows of equal length, so that the moment of a collection does not count.
 */
export function slopesOf(samples: readonly Sample[], windows: number): Slope[] {
  const [first] = samples;
  const last = samples.at(-1);
  if (first === undefined || last === undefined || last.at === first.at) return [];
  const widthMs = (last.at - first.at) / windows;
  return Object.keys(first.values).map((name) => {
    const lowest = new Map<number, { at: number; value: number }>();
    for (const { at, values } of samples) {
      const window = Math.min(windows - 1, Math.floor((at - first.at) / widthMs));
      const value = values[name] ?? 0;
      const known = lowest.get(window);
      if (known === undefined || value < known.value) lowest.set(window, { at, value });
    }
    const points = [...lowest.values()];
    return { name, first: points[0]?.value ?? 0, last: points.at(-1)?.value ?? 0, perHour: slopeOf(points) * HOUR_MS };
  });
}

function slopeOf(points: readonly { at: number; value: number }[]): number {
  const mean = (of: (point: { at: number; value: number }) => number) =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const at = mean((point) => point.at);
  const value = mean((point) => point.value);
  const spread = points.reduce((sum, point) => sum + (point.at - at) ** 2, 0);
  return spread === 0 ? 0 : points.reduce((sum, point) => sum + (point.at - at) * (point.value - value), 0) / spread;
}
