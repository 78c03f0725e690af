import { Gauge, type Registry } from "prom-client";

export type GaugeOptions<T> = {
  name: string;
  help: string;
  labelNames?: readonly (keyof T & string)[];
  /** How to combine several values with the same labels. Default: the last one. */
  combine?: "Sum" | "Max";
  read: () => Iterable<readonly [labels: T, value: number]>;
};

/** Adds a gauge that reads its values at each scrape. A series without a value is absent. */
export function addGauge<T extends Record<string, string>>(
  registry: Registry,
  { name, help, labelNames = [], combine, read }: GaugeOptions<T>,
): void {
  new Gauge({
    name,
    help,
    labelNames: [...labelNames],
    registers: [registry],
    collect() {
      this.reset();
      const values = combine === "Max" ? [...read()].sort(([, a], [, b]) => a - b) : read();
      for (const [labels, value] of values) {
        if (combine === "Sum") this.inc(labels, value);
        else this.set(labels, value);
      }
    },
  });
}

/**
 * Shares a reading between the gauges of a registry: `read` runs once a scrape, however many gauges ask for its value. A registry
 * collects all its metrics in one go, so the value is kept until the code that runs now has ended.
 */
export function oncePerScrape<T>(read: () => T): () => T {
  let kept: { value: T } | undefined;
  return () => {
    if (kept === undefined) {
      kept = { value: read() };
      queueMicrotask(() => {
        kept = undefined;
      });
    }
    return kept.value;
  };
}
