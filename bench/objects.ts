import { gpuEndpointResource, speechJobResource } from "../src/api/v1alpha1/kinds.ts";
import type { KubeClient } from "../src/kube/client.ts";
import type { KubeObject } from "../src/kube/types.ts";
import { NAMESPACE } from "./cluster.ts";
import { endpoint, speechJob } from "./manifests.ts";

const REQUESTS_AT_ONCE = 64;
const JOB_TEXT = "Mooring speaks. ".repeat(64);
const place = { namespace: NAMESPACE };

export const endpointName = (index: number) => `e-${index}`;

/** GpuEndpoints without a worker: the minimal remote has none. */
export function createEndpoints(client: KubeClient, count: number): Promise<void> {
  return eachAtOnce(count, async (index) => {
    const { spec, ...object } = endpoint(endpointName(index));
    const body = { ...object, spec: { ...spec, workers: { ...spec.workers, min: 0 } } };
    await client.create<KubeObject>(gpuEndpointResource, place, body);
  });
}

/** SpeechJobs with 1,000 characters of text that have succeeded. */
export function createFinishedJobs(client: KubeClient, count: number): Promise<void> {
  return eachAtOnce(count, async (index) => {
    const name = `j-${index}`;
    await client.create<KubeObject>(speechJobResource, place, speechJob(name, { text: JOB_TEXT }));
    await client.mergePatch(speechJobResource, { ...place, name, subresource: "status" }, { status: succeeded() });
  });
}

/** SpeechJobs that each are a task at the service. */
export function createTaskJobs(client: KubeClient, count: number): Promise<void> {
  return eachAtOnce(count, async (index) => {
    const job = speechJob(`j-${index}`, { model: "speech-2.6-hd", text: "Mooring speaks." });
    await client.create<KubeObject>(speechJobResource, place, job);
  });
}

/** Changes `workers.max` of an endpoint. */
export async function changeWorkers(client: KubeClient, name: string, max: number): Promise<void> {
  await client.mergePatch(gpuEndpointResource, { ...place, name }, { spec: { workers: { max } } });
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

/** Runs `one` for 0 to `count` - 1, `REQUESTS_AT_ONCE` at a time. */
export async function eachAtOnce(count: number, one: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await one(next++);
  };
  await Promise.all(Array.from({ length: REQUESTS_AT_ONCE }, worker));
}
