/**
 * The operator under a constant load: endpoints that exist, and a stream of jobs that are created, end and are removed. Prints
 * how heap, handles, sockets, timers and events grow.
 * Run: npm run bench -- soak [--minutes 60] [--endpoints 2000] [--jobs-per-minute 30]
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { z } from "zod";
import { gpuEndpointResource, videoJobResource } from "../src/api/v1alpha1/kinds.ts";
import { createKubeClient } from "../src/kube/client.ts";
import { loadCredentials } from "../src/kube/credentials.ts";
import type { KubeObject } from "../src/kube/types.ts";
import { startStack } from "../tools/demo/stack.ts";
import { endpoint, videoJob } from "./manifests.ts";
import { metric } from "./metric.ts";
import { type Sample, slopesOf } from "./slopes.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "60" },
    endpoints: { type: "string", default: "2000" },
    "jobs-per-minute": { type: "string", default: "30" },
  },
});
const minutes = Number(values.minutes);
const count = Number(values.endpoints);
const pauseMs = 60_000 / Number(values["jobs-per-minute"]);
const AT_ONCE = 50;
const READY_MS = 40 * 60_000;
const SAMPLE_MS = 10_000;
/** Finished jobs are removed after this time, so that the number of jobs stays the same. */
const TTL_SECONDS = 60;
/** The first jobs are removed by then: from here on the load is constant. */
const WARM_UP_MS = 150_000;
/** Windows of which the lowest heap counts. */
const WINDOWS = 8;

const stop = new AbortController();
process.once("SIGINT", () => stop.abort(new Error("interrupted")));
const say = (line: string) => console.log(line);
const pause = (ms: number) => sleep(ms, undefined, { signal: stop.signal });
const stack = await startStack({ say, signal: stop.signal });
const client = createKubeClient(await loadCredentials({ kubeconfig: stack.controlPlane.kubeconfig }));
const { namespace } = stack;

const listSize = z.object({
  items: z.array(z.unknown()),
  metadata: z.object({ remainingItemCount: z.number().default(0) }),
});

/** How many objects a list has. */
async function sizeOf(path: string): Promise<number> {
  const { items, metadata } = listSize.parse(JSON.parse(await stack.kubectl("get", "--raw", `${path}?limit=1`)));
  return items.length + metadata.remainingItemCount;
}

async function observe(): Promise<Sample> {
  const [text, events, jobs] = await Promise.all([
    fetch(stack.metrics).then((answer) => answer.text()),
    sizeOf("/apis/events.k8s.io/v1/events"),
    sizeOf(`/apis/mooring.dev/v1alpha1/namespaces/${namespace}/videojobs`),
  ]);
  return {
    at: performance.now(),
    values: {
      "heap MiB": metric(text, "nodejs_heap_size_used_bytes") / 2 ** 20,
      "external MiB": metric(text, "nodejs_external_memory_bytes") / 2 ** 20,
      "resident MiB": metric(text, "process_resident_memory_bytes") / 2 ** 20,
      handles: metric(text, "nodejs_active_handles_total"),
      sockets: metric(text, "nodejs_active_resources", 'type="TCPSocketWrap"'),
      timers: metric(text, "nodejs_active_resources", 'type="Timeout"'),
      "open files": metric(text, "process_open_fds"),
      events,
      jobs,
      "CPU seconds": metric(text, "process_cpu_seconds_total"),
    },
  };
}

async function createEndpoints(): Promise<void> {
  const began = performance.now();
  const seconds = () => Math.round((performance.now() - began) / 1_000);
  for (let from = 0; from < count; from += AT_ONCE) {
    stop.signal.throwIfAborted();
    const some = Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, i) => `e-${from + i}`);
    await Promise.all(
      some.map((name) => client.create<KubeObject>(gpuEndpointResource, { namespace }, endpoint(name))),
    );
  }
  for (let ready = 0; ready < count; ) {
    await pause(5_000);
    ready = metric(await fetch(stack.metrics).then((answer) => answer.text()), "mooring_endpoints", 'state="Ready"');
    if (performance.now() - began > READY_MS) throw new Error(`${ready} of ${count} are ready after ${seconds()} s`);
  }
  say(`${count} endpoints are ready after ${seconds()} s`);
}

let created = 0;

/** Creates jobs at the same rate until `ended` aborts. */
async function streamJobs(ended: AbortSignal): Promise<void> {
  const began = performance.now();
  while (!ended.aborted) {
    const due = began + created * pauseMs;
    if (due > performance.now()) await sleep(due - performance.now(), undefined, { signal: ended }).catch(() => {});
    if (ended.aborted) return;
    const job = videoJob(`job-${created}`);
    const body = { ...job, spec: { ...job.spec, ttlSecondsAfterFinished: TTL_SECONDS } };
    await client.create<KubeObject>(videoJobResource, { namespace }, body);
    created += 1;
  }
}

try {
  const config = JSON.stringify({ bootDelayMs: 0, videoTaskMs: [2_000, 10_000] });
  const headers = { "content-type": "application/json" };
  await fetch(`${stack.simulator}/__config`, { method: "POST", body: config, headers });
  const fast = JSON.stringify({ spec: { rateLimit: { requestsPerSecond: 1000, burst: 1000 } } });
  await stack.kubectl("patch", "clusteraccount", "default", "--type=merge", `--patch=${fast}`);
  await createEndpoints();

  const ended = new AbortController();
  const streaming = streamJobs(AbortSignal.any([ended.signal, stop.signal]));
  await Promise.race([pause(WARM_UP_MS), streaming]);
  const samples: Sample[] = [await observe()];
  const until = performance.now() + minutes * 60_000;
  while (performance.now() < until) {
    await Promise.race([pause(SAMPLE_MS), streaming]);
    samples.push(await observe());
  }
  ended.abort();
  await streaming;
  const measured = ((samples.at(-1)?.at ?? 0) - (samples[0]?.at ?? 0)) / 60_000;
  say(`${count} endpoints, ${created} jobs, ${measured.toFixed(1)} minutes, ${samples.length} samples`);
  say("| value | begin | end | change an hour |\n|---|---|---|---|");
  for (const { name, first, last, perHour } of slopesOf(samples, WINDOWS)) {
    say(`| ${name} | ${first.toFixed(1)} | ${last.toFixed(1)} | ${perHour.toFixed(1)} |`);
  }
} finally {
  await client.close();
  await stack.stop();
}
