import { setTimeout as sleep } from "node:timers/promises";
import { gpuEndpointResource, speechJobResource } from "../src/api/v1alpha1/kinds.ts";
import { createKubeClient, type KubeClient } from "../src/kube/client.ts";
import { loadCredentials } from "../src/kube/credentials.ts";
import type { KubeObject } from "../src/kube/types.ts";
import { configMapResource } from "../src/submission/journal.ts";
import { type BenchCluster, type BenchOptions, callsIn, NAMESPACE, startBenchCluster } from "./cluster.ts";
import type { ScalePoint, ScaleRest, ScaleStart } from "./figures.ts";
import { describeMachine } from "./machine.ts";
import { endpoint, speechJob } from "./manifests.ts";
import { countsOf, type MeasuredOperator, startOperator } from "./operator-process.ts";

export type ScaleOptions = BenchOptions & {
  /** GpuEndpoints. */
  endpoints: number;
  /** Finished jobs for each GpuEndpoint. */
  jobShare: number;
  /** How long the operator rests before the measurement, and how long the measurement takes. */
  calmSeconds: number;
  restSeconds: number;
};

const CREATES_AT_ONCE = 64;
const JOB_TEXT = "Mooring speaks. ".repeat(64);
/** The ConfigMaps of the journal. */
const JOURNAL = { labelSelector: "app.kubernetes.io/component=journal" };
/** Far beyond what a slow machine takes for each object, and the least for a few of them. */
const MS_PER_OBJECT = 120;
const LEAST_MS = 5 * 60_000;

/** Measures one size: a new control plane, a start that creates every remote endpoint, a restart, and the operator at rest. */
export async function measureScale(options: ScaleOptions): Promise<ScalePoint> {
  const { endpoints, jobShare, say } = options;
  const cluster = await startBenchCluster(options);
  const client = createKubeClient(await loadCredentials({ kubeconfig: cluster.controlPlane.kubeconfig }));
  try {
    const machine = await describeMachine(cluster.kubectl);
    const jobs = Math.round(endpoints * jobShare);
    const createSeconds = await secondsOf(() => createObjects(client, endpoints, jobs));
    say(`${endpoints} endpoints and ${jobs} finished jobs after ${createSeconds.toFixed(0)} s`);

    const measured = { cluster, client, options };
    const first = await startOperator(cluster, "first-operator");
    const drain = await measureStart(measured, first);
    say(`drain: ${JSON.stringify(drain)}`);
    await first.stop();
    const second = await startOperator(cluster, "second-operator");
    const restart = await measureStart(measured, second);
    say(`restart: ${JSON.stringify(restart)}`);
    const rest = await measureRest(measured, second);
    say(`rest: ${JSON.stringify(rest)}`);
    const { create = 0 } = await cluster.remote.stats();
    return { machine, endpoints, jobs, createSeconds, drain, restart, rest, creates: create };
  } finally {
    await client.close();
    await cluster.stop();
  }
}

async function secondsOf(run: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await run();
  return (performance.now() - began) / 1_000;
}

async function createObjects(client: KubeClient, endpoints: number, jobs: number): Promise<void> {
  const place = { namespace: NAMESPACE };
  await eachAtOnce(endpoints, async (index) => {
    const { spec, ...object } = endpoint(`e-${index}`);
    // The remote has no workers.
    const body = { ...object, spec: { ...spec, workers: { ...spec.workers, min: 0 } } };
    await client.create<KubeObject>(gpuEndpointResource, place, body);
  });
  await eachAtOnce(jobs, async (index) => {
    const name = `j-${index}`;
    await client.create<KubeObject>(speechJobResource, place, speechJob(name, { text: JOB_TEXT }));
    await client.mergePatch(speechJobResource, { ...place, name, subresource: "status" }, { status: succeeded() });
  });
}

/** The status of a job that has ended. */
function succeeded(): object {
  const now = new Date().toISOString().replace(/\.\d+Z$/, "Z");
  const done = { status: "True", reason: "Succeeded", message: "The job has succeeded", lastTransitionTime: now };
  return {
    phase: "Succeeded",
    observedGeneration: 1,
    startTime: now,
    completionTime: now,
    conditions: ["Ready", "Complete"].map((type) => ({ type, ...done, observedGeneration: 1 })),
  };
}

/** Runs `one` for 0 to `count` - 1, `CREATES_AT_ONCE` at a time. */
async function eachAtOnce(count: number, one: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await one(next++);
  };
  await Promise.all(Array.from({ length: CREATES_AT_ONCE }, worker));
}

type Measured = { cluster: BenchCluster; client: KubeClient; options: ScaleOptions };

/** Until every endpoint is Ready and no object waits for a reconcile. */
async function measureStart({ cluster, client, options }: Measured, operator: MeasuredOperator): Promise<ScaleStart> {
  const { endpoints, jobShare, signal } = options;
  const since = () => (performance.now() - operator.startedAt) / 1_000;
  const callsBefore = callsIn(await cluster.remote.stats());
  const firstCall = untilFirstCall(cluster, callsBefore, signal).then(since);
  firstCall.catch(() => undefined); // awaited at the end
  // A scrape reads all objects, so it is rare where they are many.
  const intervalMs = Math.max(250, endpoints / 20);
  const objects = endpoints + Math.round(endpoints * jobShare);
  const limitSeconds = Math.max(LEAST_MS, endpoints * MS_PER_OBJECT) / 1_000;
  let journalCharacters = 0;
  let journalIntents = 0;
  let lagP99Ms = 0;
  for (;;) {
    await sleep(intervalMs, undefined, { signal });
    cluster.guarded.failed.throwIfAborted();
    const text = await operator.metrics();
    const counts = countsOf(text ?? "");
    journalCharacters = Math.max(journalCharacters, await journalSize(client));
    journalIntents = Math.max(journalIntents, counts.journalIntents);
    lagP99Ms = Math.max(lagP99Ms, counts.lagP99Ms);
    const isSteady = counts.readyEndpoints === endpoints && counts.reconciles >= objects && counts.busy === 0;
    const isLate = since() > limitSeconds;
    if (!isSteady && !isLate) continue;
    const seconds = since();
    const { cpuSeconds, peakMiB } = await operator.usage();
    const remoteCalls = callsIn(await cluster.remote.stats()) - callsBefore;
    const { readyEndpoints, reconciles, apiRequests } = counts;
    if (isLate) throw new Error(`${readyEndpoints} of ${endpoints} endpoints are Ready after ${seconds.toFixed(0)} s`);
    const figures = { seconds, firstCallSeconds: await firstCall, cpuSeconds, peakMiB, lagP99Ms };
    return { ...figures, reconciles, apiRequests, remoteCalls, journalCharacters, journalIntents };
  }
}

async function untilFirstCall({ remote, guarded }: BenchCluster, before: number, signal: AbortSignal): Promise<void> {
  const ended = AbortSignal.any([signal, guarded.failed]);
  while (callsIn(await remote.stats()) === before) await sleep(20, undefined, { signal: ended });
}

/** Characters of the journal's intents in all ConfigMaps; 0 while there is none. */
async function journalSize(client: KubeClient): Promise<number> {
  type JournalMap = KubeObject & { data?: { intents?: string } };
  const place = { namespace: NAMESPACE };
  const { items } = await client.list<JournalMap>(configMapResource, place, { query: JOURNAL });
  return items.reduce((sum, { data }) => sum + (data?.intents?.length ?? 0), 0);
}

async function measureRest({ cluster, client, options }: Measured, operator: MeasuredOperator): Promise<ScaleRest> {
  const { calmSeconds, restSeconds, signal } = options;
  const observe = async () => {
    const counts = countsOf((await operator.metrics()) ?? "");
    const [usage, remote] = await Promise.all([operator.usage(), cluster.remote.stats()]);
    return { at: performance.now(), counts, usage, remoteCalls: callsIn(remote) };
  };
  await sleep(calmSeconds * 1_000, undefined, { signal });
  const before = await observe();
  await sleep(restSeconds * 1_000, undefined, { signal });
  const after = await observe();
  const minutes = (after.at - before.at) / 60_000;
  const perMinute = (of: (one: typeof after) => number) => (of(after) - of(before)) / minutes;
  const journalCharacters = await journalSize(client);
  const heapMiB = await operator.heapAfterCollectionMiB();
  return {
    cpuMsPerMinute: perMinute(({ usage }) => usage.cpuSeconds * 1_000),
    apiRequestsPerMinute: perMinute(({ counts }) => counts.apiRequests),
    remoteCallsPerMinute: perMinute(({ remoteCalls }) => remoteCalls),
    reconcilesPerMinute: perMinute(({ counts }) => counts.reconciles),
    lagP99Ms: after.counts.lagP99Ms,
    residentMiB: after.usage.residentMiB,
    heapMiB,
    journalCharacters,
  };
}
