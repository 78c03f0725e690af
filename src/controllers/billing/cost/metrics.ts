import { Gauge, type Registry } from "prom-client";
import type { CostEstimates } from "./estimates.ts";

/** What namespaces cost. */
export function registerShowbackMetrics(
  registry: Registry,
  estimates: () => Pick<CostEstimates, "entries"> | undefined,
): void {
  new Gauge({
    name: "mooring_estimated_cost_yuan",
    help: "Estimated cost of the current calendar month by account and namespace, from the bills and the observed usage. The namespace is empty for the unattributed rest; the sum over all namespaces is the cost of the month",
    labelNames: ["account", "namespace"],
    registers: [registry],
    collect() {
      this.reset();
      for (const [account, { result }] of estimates()?.entries() ?? []) {
        const { shares, unattributed } = result;
        for (const { namespace, amount } of shares("Namespace"))
          this.set({ account, namespace }, Number(amount) / 10_000);
        this.set({ account, namespace: "" }, Number(unattributed) / 10_000);
      }
    },
  });
}
