import { expect, it } from "vitest";
import { metric } from "../../../bench/metric.ts";

const TEXT = `# HELP workqueue_depth Current depth of workqueue
workqueue_depth{name="gpuendpoint"} 3
workqueue_depth{name="videojob"} 4
workqueue_depth_total 100
process_open_fds 2
`;

it.each([
  { name: "workqueue_depth", labels: "", sum: 7 },
  { name: "workqueue_depth", labels: 'name="videojob"', sum: 4 },
  { name: "process_open_fds", labels: "", sum: 2 },
  { name: "mooring_endpoints", labels: "", sum: 0 },
])("the series of $name with $labels add up to $sum", ({ name, labels, sum }) => {
  expect(metric(TEXT, name, labels)).toBe(sum);
});
