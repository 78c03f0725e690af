import { z } from "zod";
import { videoJobResource } from "../src/api/v1alpha1/kinds.ts";
import type { VideoJob } from "../src/api/v1alpha1/video-job.ts";
import type { KubeObject } from "../src/kube/types.ts";
import { type BenchOptions, clientOf, NAMESPACE, startCluster } from "./cluster.ts";
import { followObjects } from "./follow.ts";
import { describeMachine } from "./machine.ts";
import { videoJob } from "./manifests.ts";
import { startOperator } from "./operator-process.ts";
import { type SimulatorCall, type SimulatorRemote, startSimulator } from "./remotes.ts";
import type { Jobs } from "./scenario-figures.ts";

export type JobsOptions = BenchOptions & {
  /** Jobs that run at once. */
  jobs: number;
  /** Requests a second of the account. */
  rate: number;
  /** The measurement ends when this many jobs have ended. */
  finish: number;
  /** Shortest and longest time of a task. */
  shortestSeconds: number;
  longestSeconds: number;
};

/**
 * Many tasks run under a low rate limit: how long it takes from the end of a task at the service to the job's status, how many polls
 * a task costs, and how many writes a job. A new job follows each one that has ended.
 */
export async function measureJobs(options: JobsOptions): Promise<Jobs> {
  const { jobs, rate, finish, shortestSeconds, longestSeconds, say } = options;
  const rateLimit = { requestsPerSecond: rate, burst: rate };
  const cluster = await startCluster({ ...options, startRemote: startSimulator, rateLimit });
  const client = await clientOf(cluster);
  const over = new AbortController();
  try {
    const signal = AbortSignal.any([options.signal, cluster.guarded.failed, over.signal]);
    const machine = await describeMachine(cluster.kubectl);
    const videoTaskMs = [shortestSeconds * 1_000, longestSeconds * 1_000];
    await cluster.remote.configure({ timeScale: 1, queueMs: [0, 5_000], videoTaskMs });
    await startOperator(cluster, "operator");

    /** When the status of a job showed its end, ms since the epoch, by task. */
    const ended = new Map<string, number>();
    const done = Promise.withResolvers<void>();
    done.promise.catch(() => undefined); // awaited when all first jobs exist
    let [made, writes] = [0, 0];
    const make = async () => {
      const name = `job-${made++}`;
      const { spec, ...object } = videoJob(name);
      // The prompt tells which job a request is for.
      const body = { ...object, spec: { imageToVideo: { ...spec.imageToVideo, prompt: name } } };
      await client.create<KubeObject>(videoJobResource, { namespace: NAMESPACE }, body);
    };
    const followed = await followObjects<VideoJob>({ client, resource: videoJobResource, signal });
    followed.onChange((change) => {
      if (change.type === "Modified") writes++;
      const { metadata, status } = change.object;
      if (status?.phase === "Failed" || status?.phase === "Halted")
        done.reject(new Error(`VideoJob ${metadata.name}: ${JSON.stringify(status)}`));
      if (status?.phase !== "Succeeded" || status.taskID === undefined || ended.has(status.taskID)) return;
      ended.set(status.taskID, Date.now());
      if (ended.size >= finish) done.resolve();
      else make().catch(done.reject);
    });
    for (let index = 0; index < jobs; index++) await make();
    say(`${jobs} jobs, one more for each that ends, until ${finish} have ended`);
    signal.addEventListener("abort", () => done.reject(signal.reason), { once: true });
    await done.promise;

    const latencies = await latenciesOf(cluster.remote, ended);
    const polls = await cluster.remote.calls("getTaskResult");
    const beyond = beyondPolls(polls, ended);
    return {
      scenario: "jobs",
      machine,
      size: { jobs, rate },
      shortestSeconds,
      longestSeconds,
      ended: ended.size,
      latencySeconds: {
        median: quantile(latencies, 0.5),
        p95: quantile(latencies, 0.95),
        longest: quantile(latencies, 1),
      },
      afterPollMs: { median: quantile(beyond, 0.5), p99: quantile(beyond, 0.99) },
      pollsPerTask: polls.filter(({ query }) => ended.has(query.task_id ?? "")).length / ended.size,
      writesPerJob: writes / made,
      duplicates: duplicatesIn(await cluster.remote.calls("submitImageToVideo")),
    };
  } finally {
    over.abort(new Error("the measurement is over"));
    await client.close();
    await cluster.stop();
  }
}

/** In seconds, the shortest first. */
async function latenciesOf(remote: SimulatorRemote, ended: ReadonlyMap<string, number>): Promise<number[]> {
  const endsAt = new Map((await remote.tasks()).map(({ id, endsAtMs }) => [id, endsAtMs]));
  return [...ended].map(([id, at]) => (at - (endsAt.get(id) ?? Number.NaN)) / 1_000).sort((a, b) => a - b);
}

/** From the last poll of each task, which shows its end, to the job's status, in ms, the shortest first. `ended`: ms since the epoch. */
export function beyondPolls(
  polls: readonly Pick<SimulatorCall, "time" | "query">[],
  ended: ReadonlyMap<string, number>,
): number[] {
  const last = new Map(polls.map(({ query, time }) => [query.task_id ?? "", Date.parse(time)]));
  return [...ended].map(([id, at]) => at - (last.get(id) ?? Number.NaN)).sort((a, b) => a - b);
}

/** The value below which that share of the values lies. */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

const submission = z.object({ prompt: z.string() });

/** Paid requests that had an effect, beyond one for each prompt. */
export function duplicatesIn(calls: readonly Pick<SimulatorCall, "effect" | "body">[]): number {
  const prompts = calls.flatMap(({ effect, body }) => (effect === undefined ? [] : [submission.parse(body).prompt]));
  return prompts.length - new Set(prompts).size;
}
