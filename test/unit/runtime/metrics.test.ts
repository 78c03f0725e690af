import { Gauge } from "prom-client";
import { expect, it } from "vitest";
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
