import { expect, it } from "vitest";
import { operatorRegistry } from "../../../scripts/reference/metrics-page.ts";

it("the buckets of every histogram ascend", () => {
  const histograms = operatorRegistry()
    .getMetricsAsArray()
    .flatMap((metric) => ("upperBounds" in metric && Array.isArray(metric.upperBounds) ? [metric.upperBounds] : []));
  expect(histograms.length).toBeGreaterThan(5);
  for (const bounds of histograms) expect(bounds).toEqual([...new Set<number>(bounds)].sort((a, b) => a - b));
});
