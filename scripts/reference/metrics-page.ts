import type { Registry } from "prom-client";
import { systemClock } from "../../src/base/clock.ts";
import { createEndpointMetrics } from "../../src/controllers/gpu-endpoint/metrics.ts";
import { createJobMetrics } from "../../src/controllers/jobs/metrics.ts";
import { registerShowbackMetrics } from "../../src/operator/billing-metrics.ts";
import { registerLimitMetrics } from "../../src/operator/limit-metrics.ts";
import { registerObjectMetrics } from "../../src/operator/object-metrics.ts";
import { createServiceMetrics } from "../../src/operator/provider-metrics.ts";
import { registerReferenceMetrics } from "../../src/operator/reference-metrics.ts";
import { registerServerMetrics } from "../../src/operator/server-metrics.ts";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { createSpanCounter } from "../../src/tracing/metrics.ts";
import { code, markdownTable, pageHead } from "./table.ts";

type DocumentedMetric = { name: string; type: string; labels: string[]; help: string };

/** Metrics of the Node process, which prom-client registers. */
const PROCESS = /^(nodejs|process)_/;

/** Every metric of the operator, without a value. */
export function operatorRegistry(): Registry {
  const { registry } = createMetrics();
  createServiceMetrics(
    registry,
    () => undefined,
    () => ({ waiting: () => 0, balance: () => undefined }),
    true,
  );
  createEndpointMetrics(registry, { endpoints: () => [], accounts: () => [] }, systemClock);
  createJobMetrics(registry, { jobs: {}, accountOf: () => undefined, clock: systemClock });
  registerObjectMetrics(registry, {}, systemClock);
  registerLimitMetrics(registry, () => [], true);
  registerShowbackMetrics(registry, () => undefined);
  registerReferenceMetrics(registry, {});
  registerServerMetrics(registry, {
    accounts: () => [],
    isNeeded: () => false,
    count: () => 0,
    ends: { hasSenderEnded: () => false },
  });
  createSpanCounter(registry);
  return registry;
}

/** Every metric of the operator but those of its process, by name. */
export function operatorMetrics(): DocumentedMetric[] {
  return operatorRegistry()
    .getMetricsAsArray()
    .filter(({ name }) => !PROCESS.test(name))
    .map((metric) => ({ name: metric.name, type: String(metric.type), labels: labelsOf(metric), help: metric.help }))
    .sort((a, b) => a.name.localeCompare(b.name));
}

/** docs/reference/metrics.md. */
export function metricsPage(metrics: readonly DocumentedMetric[]): string {
  const table = (isOwn: boolean) =>
    markdownTable(
      ["metric", "type", "labels", "meaning"],
      metrics
        .filter(({ name }) => name.startsWith("mooring_") === isOwn)
        .map(({ name, type, labels, help }) => [code(name), type, labels.map(code).join(", "), help]),
    );
  return [
    pageHead("Metrics", "the metrics that the operator registers"),
    "The operator serves these metrics at `/metrics`. No metric has a series per object. The value of the label `account` is",
    "`Account/NAMESPACE/NAME` or `ClusterAccount/NAME`. The [alerts](../how-to/alerts.md#alerts) of the chart use these metrics.",
    "",
    "Each process reports the objects of the accounts that it serves, so that a sum over all processes counts nothing twice.",
    "",
    "## Metrics of Mooring",
    "",
    table(true),
    "",
    "## Metrics with the names of controller-runtime and client-go",
    "",
    table(false),
    "",
    "The metrics `nodejs_*` and `process_*` describe the process of the operator.",
    "",
  ].join("\n");
}

/** The types of prom-client do not show the names of the labels. */
function labelsOf(metric: object): string[] {
  return "labelNames" in metric && Array.isArray(metric.labelNames) ? metric.labelNames.map(String) : [];
}
