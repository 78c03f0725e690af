import { Gauge, type Registry } from "prom-client";
import type { ReferencePoller } from "../runtime/reference-poller.ts";

/** How many Secrets and ConfigMaps are polled, and how late. `pollers`: by the value of the label `use`. */
export function registerReferenceMetrics(
  registry: Registry,
  pollers: Readonly<Record<string, Pick<ReferencePoller, "size" | "oldestReadMs">>>,
): void {
  const shared = { labelNames: ["use"], registers: [registry] };
  new Gauge({
    ...shared,
    name: "mooring_polled_objects",
    help: "Secrets and ConfigMaps that Mooring reads again and again, by use: References (a spec refers to them) and Exports (exportTo names them)",
    collect() {
      for (const [use, poller] of Object.entries(pollers)) this.set({ use }, poller.size());
    },
  });
  new Gauge({
    ...shared,
    name: "mooring_polled_objects_oldest_read_seconds",
    help: "How long ago that object of mooring_polled_objects was read which has not been read for the longest time. A change is noticed within this time",
    collect() {
      for (const [use, poller] of Object.entries(pollers)) this.set({ use }, poller.oldestReadMs() / 1000);
    },
  });
}
