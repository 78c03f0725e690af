/**
 * Streamed speech that lasts long, into a volume and into S3 at once: what memory the operator needs meanwhile, and whether every byte
 * arrives. Ends with exit code 1 when one does not, or when memory grows with the stream. A shorter stream ends before the heap has found its
 * size: twenty minutes of audio in two minutes are `--time-scale 0.1`.
 * Run: npm run build && node bench/long-stream.ts --minutes 20
 */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { artifactStoreResource, speechJobResource } from "../src/api/v1alpha1/kinds.ts";
import type { SpeechJob } from "../src/api/v1alpha1/speech-job.ts";
import { secretResource } from "../src/controllers/references.ts";
import { createKubeClient } from "../src/kube/client.ts";
import { loadCredentials } from "../src/kube/credentials.ts";
import type { Resource } from "../src/kube/resource.ts";
import type { KubeObject } from "../src/kube/types.ts";
import { startVersitygw } from "../tools/artifacts/versitygw.ts";
import { startStack } from "../tools/demo/stack.ts";
import { prepareTools } from "../tools/programs/tool.ts";
import { artifactStore, speechJob } from "./manifests.ts";

const { values } = parseArgs({
  options: {
    /** Of audio, and of the stream. */
    minutes: { type: "string", default: "20" },
    /** What the stream's time is multiplied with: 0.1 sends the same audio ten times as fast. */
    "time-scale": { type: "string", default: "1" },
  },
});
const seconds = Number(values.minutes) * 60;
const timeScale = Number(values["time-scale"]);

const TEXT = "Ahoy, sailor! ".repeat(640);
/** 16 bits, one channel. */
const SAMPLE_RATE = 32_000;
const CHUNKS_PER_SECOND = 2;
const SAMPLE_MS = 500;
/** What memory may grow in the second half; in the first, buffers and heap take their size. Both streams hold 154 MB in 20 minutes. */
const GROWTH_MIB = 24;
const STORES = ["volume", "s3"] as const;

const stop = new AbortController();
process.once("SIGINT", () => stop.abort(new Error("interrupted")));
const say = (line: string) => console.log(line);
const root = await mkdtemp(join(tmpdir(), "mooring-long-stream-"));
await prepareTools(["versitygw"], (line) => console.error(line));
const s3 = await startVersitygw();
const operatorArgs = [`--artifact-root=${root}`, "--allow-private-networks"];
const stack = await startStack({ say, signal: stop.signal, operatorArgs });
const client = createKubeClient(await loadCredentials({ kubeconfig: stack.controlPlane.kubeconfig }));
const { namespace } = stack;

async function create(resource: Resource, object: { metadata: { name: string } }): Promise<void> {
  await client.create<KubeObject>(resource, { namespace }, { spec: undefined, ...object });
}

async function residentMiB(): Promise<number> {
  const text = await (await fetch(stack.metrics)).text();
  return Number(/^process_resident_memory_bytes (\S+)/m.exec(text)?.[1]) / 2 ** 20;
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

/** The operator's memory until both jobs have ended, MiB each `SAMPLE_MS`. */
async function watchMemory(): Promise<number[]> {
  const samples: number[] = [];
  for (;;) {
    samples.push(await residentMiB());
    const jobs = await Promise.all(
      STORES.map((name) => client.get<SpeechJob>(speechJobResource, { namespace, name: `long-${name}` })),
    );
    const failed = jobs.find(({ status }) => status?.phase === "Failed" || status?.phase === "Halted");
    if (failed !== undefined) throw new Error(`${failed.metadata.name}: ${JSON.stringify(failed.status)}`);
    if (jobs.every(({ status }) => status?.phase === "Succeeded")) return samples;
    await sleep(SAMPLE_MS, undefined, { signal: stop.signal });
  }
}

try {
  const answer = await fetch(`${stack.simulator}/__config`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      timeScale,
      charactersPerSecond: TEXT.length / seconds,
      maxAudioSeconds: seconds,
      streamChunkBytes: (SAMPLE_RATE * 2) / CHUNKS_PER_SECOND,
      streamChunkMs: 1_000 / CHUNKS_PER_SECOND,
    }),
  });
  if (!answer.ok) throw new Error(`simulator: ${answer.status} ${await answer.text()}`);

  await mkdir(join(s3.folder, "results"));
  const keys = { AWS_ACCESS_KEY_ID: s3.accessKeyId, AWS_SECRET_ACCESS_KEY: s3.secretAccessKey };
  await create(secretResource, { metadata: { name: "keys" }, ...{ stringData: keys } });
  await create(artifactStoreResource, artifactStore("volume", { volume: { path: "results" } }));
  const credentialsSecretRef = { name: "keys" };
  const bucket = { bucket: "results", endpoint: s3.endpoint, forcePathStyle: true, credentialsSecretRef };
  await create(artifactStoreResource, artifactStore("s3", { s3: bucket }));
  await stack.kubectl(
    "wait",
    "--for=condition=Ready",
    ...STORES.map((name) => `artifactstore/${name}`),
    "--timeout=60s",
  );

  const before = await residentMiB();
  const began = performance.now();
  for (const name of STORES) {
    const audioSetting = { format: "wav", sampleRate: SAMPLE_RATE, channel: 1 };
    const change = { text: TEXT, stream: true, audioSetting, output: { storeRef: { name } } };
    await create(speechJobResource, speechJob(`long-${name}`, change));
  }
  const samples = await watchMemory();
  const minutes = (performance.now() - began) / 60_000;

  const half = Math.ceil(samples.length / 2);
  const [early, late] = [Math.max(...samples.slice(0, half)), Math.max(...samples.slice(half))];
  say(`two streams of ${seconds / 60} minutes of audio at once took ${minutes.toFixed(1)} minutes`);
  say(`  resident before: ${before.toFixed(0)} MiB; peak: ${Math.max(early, late).toFixed(0)} MiB`);
  const tenths = Array.from({ length: 10 }, (_, index) => {
    const part = samples.slice(
      Math.floor((index * samples.length) / 10),
      Math.ceil(((index + 1) * samples.length) / 10),
    );
    return Math.max(...part).toFixed(0);
  });
  say(`  peak in each tenth: ${tenths.join(" ")} MiB (${samples.length} samples)`);

  const expected = 44 + Math.round(seconds * SAMPLE_RATE) * 2;
  for (const name of STORES) {
    const { status } = await client.get<SpeechJob>(speechJobResource, { namespace, name: `long-${name}` });
    const artifact = status?.results?.[0]?.artifact;
    const file = await onlyFile(name === "s3" ? join(s3.folder, "results") : join(root, "results"));
    say(`  ${artifact?.uri}: ${file.bytes} bytes, first audio after ${status?.firstAudioMs} ms`);
    if (file.bytes !== artifact?.bytes || file.sha256 !== artifact.sha256 || file.bytes < expected) {
      throw new Error(`the stream had at least ${expected} bytes; status: ${JSON.stringify(artifact)}`);
    }
  }
  const audit = await fetch(`${stack.simulator}/__audit?operation=streamSpeech`);
  const calls = (await audit.json()) as unknown[];
  if (calls.length !== STORES.length) throw new Error(`${calls.length} paid calls instead of ${STORES.length}`);
  if (late > early + GROWTH_MIB) throw new Error(`memory grew by ${(late - early).toFixed(0)} MiB in the second half`);
} finally {
  stop.abort(new Error("over"));
  await client.close();
  await stack.stop();
  await s3.stop();
  await rm(root, { recursive: true, force: true });
}
