import type { Registry } from "prom-client";
import { addGauge } from "../runtime/gauge.ts";
import type { ReferencePoller } from "../runtime/reference-poller.ts";

type Poller = Pick<ReferencePoller, "size" | "oldestReadMs">;

/** How many Secrets and ConfigMaps are polled, and how late. `pollers`: by the value of the label `use`. */
export function registerReferenceMetrics(registry: Registry, pollers: Readonly<Record<string, Poller>>): void {
  const labelNames = ["use"] as const;
  const each = (figure: (poller: Poller) => number) => () =>
    Object.entries(pollers).map(([use, poller]) => [{ use }, figure(poller)] as const);
  addGauge(registry, {
    name: "mooring_polled_objects",
    help: "Secrets and ConfigMaps that Mooring reads again and again, by use: References (a spec refers to them) and Exports (exportTo names them)",
    labelNames,
    read: each((poller) => poller.size()),
  });
  addGauge(registry, {
    name: "mooring_polled_objects_oldest_read_seconds",
    help: "Age of the stalest read of mooring_polled_objects. A change is noticed within this time",
    labelNames,
    read: each((poller) => poller.oldestReadMs() / 1000),
  });
}
