const UNITS_MS: Record<string, number> = { ns: 1e-6, us: 1e-3, µs: 1e-3, ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** Milliseconds of a Go duration such as `1h30m`, `90s` or `1.5h`. @throws Error on anything else */
export function parseDuration(text: string): number {
  if (text === "0") return 0;
  if (!/^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$/.test(text)) {
    throw new Error(`duration "${text}": expected a Go duration such as 30s, 5m or 24h`);
  }
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/([0-9.]+)(ns|us|µs|ms|s|m|h)/g)) {
    total += Number(amount) * (UNITS_MS[unit ?? ""] ?? 0);
  }
  return total;
}

/** The shortest Go spelling of whole seconds: `90s` is `1m30s`. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  const parts = [
    [Math.floor(seconds / 3600), "h"],
    [Math.floor((seconds % 3600) / 60), "m"],
    [seconds % 60, "s"],
  ] as const;
  return (
    parts
      .filter(([amount]) => amount > 0)
      .map(([amount, unit]) => `${amount}${unit}`)
      .join("") || "0s"
  );
}
