import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { createEndpointMetrics } from "../../../src/controllers/gpu-endpoint/metrics.ts";
import { createJobMetrics } from "../../../src/controllers/jobs/metrics.ts";
import { registerObjectMetrics } from "../../../src/operator/object-metrics.ts";
import { oncePerScrape } from "../../../src/runtime/gauge.ts";
import { endpointOf } from "../../support/endpoints.ts";
import { START } from "../../support/fake-clock.ts";
import { speechJobOf, videoJobOf } from "../../support/jobs.ts";

const clock = { now: () => START };

/** A list that counts how often it is read. */
function counted<T>(objects: readonly T[]): { list: () => Iterable<T>; passes: () => number } {
  let passes = 0;
  return {
    list: () => {
      passes++;
      return objects;
    },
    passes: () => passes,
  };
}

it.each([
  {
    group: "metrics of endpoints",
    register(registry: Registry) {
      const { list, passes } = counted([endpointOf(), endpointOf()]);
      createEndpointMetrics(registry, { endpoints: list, accounts: () => [] }, clock);
      return [passes];
    },
  },
  {
    group: "metrics of jobs",
    register(registry: Registry) {
      const [speech, video] = [counted([speechJobOf("hd")]), counted([videoJobOf("image")])];
      const jobs = { SpeechJob: speech.list, VideoJob: video.list };
      createJobMetrics(registry, { jobs, accountOf: () => undefined, clock });
      return [speech.passes, video.passes];
    },
  },
  {
    group: "metrics of stuck objects",
    register(registry: Registry) {
      const { list, passes } = counted([endpointOf()]);
      registerObjectMetrics(registry, { GpuEndpoint: list }, clock);
      return [passes];
    },
  },
])("$group: a scrape reads all objects of a kind once", async ({ register }) => {
  const registry = new Registry();
  const passes = register(registry);
  await registry.metrics();
  expect(passes.map((of) => of())).toEqual(passes.map(() => 1));
  await registry.metrics();
  expect(passes.map((of) => of())).toEqual(passes.map(() => 2));
});

it("a value that gauges share is read again after the code that runs has ended", async () => {
  let reads = 0;
  const read = oncePerScrape(() => ++reads);
  expect([read(), read()]).toEqual([1, 1]);
  await Promise.resolve();
  expect(read()).toBe(2);
});
