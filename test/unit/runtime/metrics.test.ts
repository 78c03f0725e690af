import { Gauge } from "prom-client";
import { expect, it } from "vitest";
import { operatorRegistry } from "../../../scripts/reference/metrics-page.ts";
import { createMetrics } from "../../../src/runtime/metrics.ts";

it.each([
  { given: "without shards", options: {}, shard: "0" },
  { given: "as shard 2", options: { shard: 2 }, shard: "2" },
  { given: "as shard 2, with exemplars", options: { shard: 2, exemplars: true }, shard: "2" },
])("$given, every series has the label shard=$shard", async ({ options, shard }) => {
  const { registry, restRequests, reconcileTime } = createMetrics(options);
  const gauge = new Gauge({ name: "mooring_things", help: "Things", labelNames: ["kind"], registers: [registry] });
  gauge.set({ kind: "GpuEndpoint" }, 2);
  restRequests.inc({ code: "200", method: "get", host: "api" });
  reconcileTime.observe({ controller: "gpuendpoint" }, 0.1);
  const series = (await registry.metrics()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  expect(series).toContain(`mooring_things{kind="GpuEndpoint",shard="${shard}"} 2`);
  expect(series.filter((line) => !line.includes(`shard="${shard}"`))).toEqual([]);
});

it("the buckets of every histogram ascend", () => {
  const histograms = operatorRegistry()
    .getMetricsAsArray()
    .flatMap((metric) => ("upperBounds" in metric && Array.isArray(metric.upperBounds) ? [metric.upperBounds] : []));
  expect(histograms.length).toBeGreaterThan(5);
  for (const bounds of histograms) expect(bounds).toEqual([...new Set<number>(bounds)].sort((a, b) => a - b));
});
