/**
 * From the end of a task at the service to the job's status: how long, and how many polls a task costs, while many tasks run
 * under a low rate limit.
 * Run: npm run build && node bench/job-latency.ts --running 200 --rate 10 --finish 400
 */
import { parseArgs } from "node:util";
import { videoJobResource } from "../src/api/v1alpha1/kinds.ts";
import type { VideoJob } from "../src/api/v1alpha1/video-job.ts";
import { systemClock } from "../src/clock.ts";
import { createKubeClient } from "../src/kube/client.ts";
import { loadCredentials } from "../src/kube/credentials.ts";
import type { KubeObject } from "../src/kube/types.ts";
import { createLogger } from "../src/log.ts";
import { createInformer } from "../src/runtime/store.ts";
import { startStack } from "../tools/demo/stack.ts";
import { videoJob } from "./manifests.ts";

const { values } = parseArgs({
  options: {
    running: { type: "string", default: "200" },
    rate: { type: "string", default: "10" },
    finish: { type: "string", default: "400" },
    /** Shortest and longest time of a task, seconds. */
    shortest: { type: "string", default: "60" },
    longest: { type: "string", default: "180" },
  },
});
const running = Number(values.running);
const finish = Number(values.finish);

const stop = new AbortController();
process.once("SIGINT", () => stop.abort(new Error("interrupted")));
const say = (line: string) => console.log(line);
const stack = await startStack({ say, signal: stop.signal });
const client = createKubeClient(await loadCredentials({ kubeconfig: stack.controlPlane.kubeconfig }));

async function simulator<T>(method: string, path: string, body?: unknown): Promise<T> {
  const answer = await fetch(`${stack.simulator}${path}`, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
  });
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}

/** The value below which that share of the values lies. */
function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

try {
  await simulator("POST", "/__config", {
    timeScale: 1,
    queueMs: [0, 5_000],
    videoTaskMs: [Number(values.shortest) * 1_000, Number(values.longest) * 1_000],
  });
  const rate = Number(values.rate);
  const slow = JSON.stringify({ spec: { rateLimit: { requestsPerSecond: rate, burst: rate } } });
  await stack.kubectl("patch", "clusteraccount", "default", "--type=merge", `--patch=${slow}`);

  /** When the status of a job was seen to have ended, ms since the epoch, by task. */
  const ended = new Map<string, number>();
  let writes = 0;
  const done = Promise.withResolvers<void>();
  let made = 0;
  const make = async () => {
    const job = videoJob(`job-${made++}`);
    await client.create<KubeObject>(videoJobResource, { namespace: stack.namespace }, job);
  };
  const jobs = createInformer<VideoJob>({
    client,
    resource: videoJobResource,
    namespaces: [stack.namespace],
    clock: systemClock,
    random: Math.random,
    log: createLogger({ logLevel: "error", logFormat: "json" }),
  });
  jobs.onChange((change) => {
    if (change.type === "Modified") writes++;
    const { status } = change.object;
    if (status?.phase !== "Succeeded" || status.taskID === undefined || ended.has(status.taskID)) return;
    ended.set(status.taskID, Date.now());
    if (ended.size === finish) done.resolve();
    make().catch(done.reject); // as many run as before
  });
  await jobs.start(stop.signal);
  for (let i = 0; i < running; i++) await make();
  say(`${running} jobs, one more for each that ends, until ${finish} have ended`);
  stop.signal.addEventListener("abort", () => done.reject(stop.signal.reason), { once: true });
  await done.promise;

  const { tasks } = await simulator<{ tasks: { id: string; endsAtMs: number }[] }>("GET", "/__state");
  const endsAt = new Map(tasks.map(({ id, endsAtMs }) => [id, endsAtMs]));
  const latencies = [...ended].map(([id, at]) => (at - (endsAt.get(id) ?? Number.NaN)) / 1_000).sort((a, b) => a - b);
  const polls = await simulator<{ query: { task_id: string } }[]>("GET", "/__audit?operation=getTaskResult");
  const ofEnded = polls.filter(({ query }) => ended.has(query.task_id)).length;
  say(
    `${ended.size} tasks of ${values.shortest} to ${values.longest} s, ${running} at a time, ${rate} requests a second:`,
  );
  say(
    `  from the end of a task to the status: median ${quantile(latencies, 0.5).toFixed(1)} s, p95 ${quantile(latencies, 0.95).toFixed(1)} s, longest ${latencies.at(-1)?.toFixed(1)} s`,
  );
  say(`  polls a task: ${(ofEnded / ended.size).toFixed(1)}; writes of a job: ${(writes / made).toFixed(1)}`);
} finally {
  stop.abort(new Error("over"));
  await client.close();
  await stack.stop();
}
