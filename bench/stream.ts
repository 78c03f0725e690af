import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { artifactStoreResource, speechJobResource } from "../src/api/v1alpha1/kinds.ts";
import type { SpeechJob } from "../src/api/v1alpha1/speech-job.ts";
import type { KubeClient } from "../src/kube/client.ts";
import type { Resource } from "../src/kube/resource.ts";
import { secretResource } from "../src/kube/resource.ts";
import type { KubeObject } from "../src/kube/types.ts";
import { type S3Server, startVersitygw } from "../tools/artifacts/versitygw.ts";
import { type BenchOptions, type Cluster, clientOf, NAMESPACE, startCluster } from "./cluster.ts";
import { describeMachine } from "./machine.ts";
import { artifactStore, speechJob } from "./manifests.ts";
import { type MeasuredOperator, startOperator } from "./operator-process.ts";
import { type SimulatorRemote, startSimulator } from "./remotes.ts";
import type { Stream } from "./scenario-figures.ts";

export type StreamOptions = BenchOptions & {
  /** Of each of the two streams. */
  audioMinutes: number;
  /** What the stream's time is multiplied with: 0.1 sends the same audio ten times as fast. */
  timeScale: number;
};

const TEXT = "Ahoy, sailor! ".repeat(640);
/** 16 bits, one channel. */
const SAMPLE_RATE = 32_000;
const CHUNKS_PER_SECOND = 2;
const SAMPLE_MS = 500;
const MIB = 2 ** 20;
/**
 * What memory may grow in the second half; in the first, buffers and heap take their size: V8's young generation within 30 minutes of audio.
 * Both streams hold 461 MB in 60 minutes.
 */
const GROWTH_MIB = 24;
const STORES = ["volume", "s3"] as const;
type StoreName = (typeof STORES)[number];
const jobName = (store: StoreName) => `long-${store}`;

type Scene = { client: KubeClient; cluster: Cluster<SimulatorRemote>; s3: S3Server; root: string; signal: AbortSignal };

/**
 * Streamed speech that lasts long, into a volume and into S3 at once: what memory the operator needs meanwhile, and whether every byte
 * arrives.
 * @throws Error when a byte is missing, a stream is paid twice, or memory grows in the second half
 */
export async function measureStream(options: StreamOptions): Promise<Stream> {
  const { audioMinutes, timeScale, say } = options;
  const s3 = await startVersitygw();
  try {
    const cluster = await startCluster({ ...options, startRemote: startSimulator });
    const client = await clientOf(cluster);
    try {
      const signal = AbortSignal.any([options.signal, cluster.guarded.failed]);
      const root = join(cluster.guarded.dir, "artifacts");
      await mkdir(root);
      const machine = await describeMachine(cluster.kubectl);
      await cluster.remote.configure(behaviorOf(audioMinutes * 60, timeScale));
      const operator = await startOperator(cluster, "operator", [`--artifact-root=${root}`]);
      const scene = { client, cluster, s3, root, signal };
      await createStores(scene);

      const { usedMiB, beforeMiB, seconds } = await streamBoth(scene, operator);
      const half = Math.ceil(usedMiB.length / 2);
      const [firstHalfMiB, secondHalfMiB] = [Math.max(...usedMiB.slice(0, half)), Math.max(...usedMiB.slice(half))];
      say(`two streams of ${audioMinutes} minutes of audio took ${seconds.toFixed(0)} s; resident, MiB:`);
      say(`${beforeMiB.toFixed(0)} before, ${peaksOf(usedMiB, 10).map(Math.round).join(" ")} at most in each tenth`);
      const { storedMiB, firstAudioMs } = await checkResults(scene, audioMinutes * 60);
      const paidCalls = (await cluster.remote.calls("streamSpeech")).length;
      if (paidCalls !== STORES.length) throw new Error(`${paidCalls} paid calls instead of ${STORES.length}`);
      const grown = secondHalfMiB - firstHalfMiB;
      if (grown > GROWTH_MIB) throw new Error(`memory grew by ${grown.toFixed(0)} MiB in the second half`);
      const figures = { seconds, beforeMiB, firstHalfMiB, secondHalfMiB, storedMiB, firstAudioMs, paidCalls };
      return { scenario: "stream", machine, size: { audioMinutes, timeScale }, ...figures };
    } finally {
      await client.close();
      await cluster.stop();
    }
  } finally {
    await s3.stop();
  }
}

/** Of the simulator: audio of that length for `TEXT`. */
function behaviorOf(seconds: number, timeScale: number): object {
  return {
    timeScale,
    charactersPerSecond: TEXT.length / seconds,
    maxAudioSeconds: seconds,
    streamChunkBytes: (SAMPLE_RATE * 2) / CHUNKS_PER_SECOND,
    streamChunkMs: 1_000 / CHUNKS_PER_SECOND,
  };
}

async function create(client: KubeClient, resource: Resource, object: { metadata: { name: string } }): Promise<void> {
  await client.create<KubeObject>(resource, { namespace: NAMESPACE }, { spec: undefined, ...object });
}

async function createStores({ client, cluster, s3 }: Scene): Promise<void> {
  await mkdir(join(s3.folder, "results"));
  const keys = { AWS_ACCESS_KEY_ID: s3.accessKeyId, AWS_SECRET_ACCESS_KEY: s3.secretAccessKey };
  await create(client, secretResource, { metadata: { name: "keys" }, ...{ stringData: keys } });
  await create(client, artifactStoreResource, artifactStore("volume", { volume: { path: "results" } }));
  const credentialsSecretRef = { name: "keys" };
  const bucket = { bucket: "results", endpoint: s3.endpoint, forcePathStyle: true, credentialsSecretRef };
  await create(client, artifactStoreResource, artifactStore("s3", { s3: bucket }));
  const names = STORES.map((name) => `artifactstore/${name}`);
  await cluster.kubectl("wait", `--namespace=${NAMESPACE}`, "--for=condition=Ready", ...names, "--timeout=120s");
}

type Streamed = { beforeMiB: number; usedMiB: number[]; seconds: number };

/** The operator's memory until both jobs have ended, each `SAMPLE_MS`. */
async function streamBoth({ client, signal }: Scene, operator: MeasuredOperator): Promise<Streamed> {
  const residentMiB = async () => (await operator.usage()).residentMiB;
  const beforeMiB = await residentMiB();
  const began = performance.now();
  for (const name of STORES) {
    const audioSetting = { format: "wav", sampleRate: SAMPLE_RATE, channel: 1 };
    const change = { text: TEXT, stream: true, audioSetting, output: { storeRef: { name } } };
    await create(client, speechJobResource, speechJob(jobName(name), change));
  }
  const usedMiB: number[] = [];
  for (;;) {
    usedMiB.push(await residentMiB());
    const jobs = await Promise.all(STORES.map((store) => getJob(client, store)));
    const failed = jobs.find(({ status }) => status?.phase === "Failed" || status?.phase === "Halted");
    if (failed !== undefined) throw new Error(`${failed.metadata.name}: ${JSON.stringify(failed.status)}`);
    if (jobs.every(({ status }) => status?.phase === "Succeeded")) break;
    await sleep(SAMPLE_MS, undefined, { signal });
  }
  return { beforeMiB, usedMiB, seconds: (performance.now() - began) / 1_000 };
}

function getJob(client: KubeClient, store: StoreName): Promise<SpeechJob> {
  return client.get<SpeechJob>(speechJobResource, { namespace: NAMESPACE, name: jobName(store) });
}

/** The highest value in each of that many parts of the samples. */
export function peaksOf(samples: readonly number[], parts: number): number[] {
  const at = (index: number) => (index * samples.length) / parts;
  return Array.from({ length: parts }, (_, index) =>
    Math.max(...samples.slice(Math.floor(at(index)), Math.ceil(at(index + 1)))),
  );
}

/** Compares each file with the status of its job, and with the length of the audio. */
async function checkResults({ client, s3, root }: Scene, seconds: number) {
  const expected = 44 + Math.round(seconds * SAMPLE_RATE) * 2;
  const storedMiB: Record<string, number> = {};
  const firstAudioMs: Record<string, number> = {};
  for (const store of STORES) {
    const { status } = await getJob(client, store);
    const artifact = status?.results?.[0]?.artifact;
    const file = await onlyFile(store === "s3" ? join(s3.folder, "results") : join(root, "results"));
    if (file.bytes !== artifact?.bytes || file.sha256 !== artifact.sha256 || file.bytes < expected) {
      const found = `${file.bytes} bytes, status: ${JSON.stringify(artifact)}`;
      throw new Error(`store ${store}: ${found}; the stream had at least ${expected} bytes`);
    }
    storedMiB[store] = file.bytes / MIB;
    if (status?.firstAudioMs !== undefined) firstAudioMs[store] = status.firstAudioMs;
  }
  return { storedMiB, firstAudioMs };
}

/** Size and SHA-256 of the only file under a folder. */
async function onlyFile(folder: string): Promise<{ bytes: number; sha256: string }> {
  const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const [file] = files;
  if (file === undefined || files.length > 1) throw new Error(`${folder}: ${files.length} files instead of one`);
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of createReadStream(join(file.parentPath, file.name))) {
    bytes += chunk.length;
    hash.update(chunk);
  }
  return { bytes, sha256: hash.digest("hex") };
}
