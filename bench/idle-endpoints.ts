/**
 * What endpoints cost while nothing happens: calls of the remote service, writes to the API server, CPU and memory.
 * Run: npm run build && node bench/idle-endpoints.ts --endpoints 5000 --minutes 3
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { gpuEndpointResource } from "../src/api/v1alpha1/kinds.ts";
import { createKubeClient } from "../src/kube/client.ts";
import { loadCredentials } from "../src/kube/credentials.ts";
import type { KubeObject } from "../src/kube/types.ts";
import { startStack } from "../tools/demo/stack.ts";
import { endpoint } from "./manifests.ts";
import { metric } from "./metric.ts";

const { values } = parseArgs({
  options: { endpoints: { type: "string", default: "5000" }, minutes: { type: "string", default: "3" } },
});
const count = Number(values.endpoints);
const minutes = Number(values.minutes);
const AT_ONCE = 50;
const READY_MS = 40 * 60_000;
/** Whatever was still under way when the last endpoint became ready is over: one sweep, and the account's own rounds. */
const CALM_MS = 75_000;

const stop = new AbortController();
process.once("SIGINT", () => stop.abort(new Error("interrupted")));
const say = (line: string) => console.log(line);
const stack = await startStack({ say, signal: stop.signal });
const client = createKubeClient(await loadCredentials({ kubeconfig: stack.controlPlane.kubeconfig }));

async function simulator(method: string, path: string, body?: unknown): Promise<unknown> {
  const answer = await fetch(`${stack.simulator}${path}`, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
  });
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

async function observe() {
  const [metrics, calls] = await Promise.all([
    fetch(stack.metrics).then((answer) => answer.text()),
    simulator("GET", "/__audit/counts") as Promise<Record<string, { calls: number }>>,
  ]);
  return {
    at: performance.now(),
    calls,
    patches: metric(metrics, "rest_client_requests_total", 'method="PATCH"'),
    posts: metric(metrics, "rest_client_requests_total", 'method="POST"'),
    reconciles: metric(metrics, "controller_runtime_reconcile_total", 'controller="gpuendpoint"'),
    cpuSeconds: metric(metrics, "process_cpu_seconds_total"),
    residentMiB: metric(metrics, "process_resident_memory_bytes") / 2 ** 20,
  };
}

try {
  await simulator("POST", "/__config", { bootDelayMs: 0 });
  const fast = JSON.stringify({ spec: { rateLimit: { requestsPerSecond: 1000, burst: 1000 } } });
  await stack.kubectl("patch", "clusteraccount", "default", "--type=merge", `--patch=${fast}`);
  const began = performance.now();
  const seconds = () => Math.round((performance.now() - began) / 1_000);
  const names = Array.from({ length: count }, (_, index) => `e-${index}`);
  const { namespace } = stack;
  for (let from = 0; from < count; from += AT_ONCE) {
    stop.signal.throwIfAborted();
    const some = names.slice(from, from + AT_ONCE);
    await Promise.all(
      some.map((name) => client.create<KubeObject>(gpuEndpointResource, { namespace }, endpoint(name))),
    );
  }
  say(`${count} objects after ${seconds()} s`);
  for (let ready = 0; ready < count; ) {
    await sleep(5_000, undefined, { signal: stop.signal });
    ready = metric(await fetch(stack.metrics).then((answer) => answer.text()), "mooring_endpoints", 'state="Ready"');
    if (performance.now() - began > READY_MS) throw new Error(`${ready} of ${count} are ready after ${seconds()} s`);
  }
  say(`all ready after ${seconds()} s`);
  await sleep(CALM_MS, undefined, { signal: stop.signal });

  const before = await observe();
  await sleep(minutes * 60_000, undefined, { signal: stop.signal });
  const after = await observe();
  const passed = (after.at - before.at) / 60_000;
  const perMinute = (now: number, then = 0) => ((now - then) / passed).toFixed(1);
  say(`${count} endpoints, idle for ${passed.toFixed(2)} minutes, a minute:`);
  for (const [operation, { calls }] of Object.entries(after.calls)) {
    const since = before.calls[operation]?.calls ?? 0;
    if (calls > since) say(`  ${operation}: ${perMinute(calls, since)} calls`);
  }
  say(`  status and other object writes (PATCH): ${perMinute(after.patches, before.patches)}`);
  say(`  creations, events among them (POST): ${perMinute(after.posts, before.posts)}`);
  say(`  reconciles: ${perMinute(after.reconciles, before.reconciles)}`);
  say(`  CPU seconds: ${perMinute(after.cpuSeconds, before.cpuSeconds)}; resident ${after.residentMiB.toFixed(0)} MiB`);
} finally {
  await client.close();
  await stack.stop();
}
