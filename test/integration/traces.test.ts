import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { PhaseStart } from "../../src/api/v1alpha1/job.ts";
import { type FileServer, startFileServer } from "../../tools/artifacts/file-server.ts";
import { type CollectedSpan, type Collector, startCollector } from "../../tools/tracing/otel-collector.ts";
import { createAuthority } from "../support/certificates.ts";
import { manifest } from "../support/manifests.ts";
import { expectWellFormed, treeOf } from "../support/spans.ts";
import {
  type AnyObject,
  API_KEY,
  condition,
  createWorld,
  eventsOf,
  eventually,
  type World,
  waitForCondition,
} from "../support/world.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = "00f067aa0ba902b7";
const CANARIES = {
  prompt: "canary-prompt-never-in-a-trace",
  signature: "canary-signature-of-a-url",
  secret: "canary-value-of-a-secret",
  header: "canary-header-of-the-collector",
};

let folder: string;
let collector: Collector;
let source: FileServer;
let world: World;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "mooring-traces-"));
  const authority = await createAuthority(folder);
  const server = await authority.issue("collector", ["IP:127.0.0.1"]);
  const path = (name: string) => join(folder, name);
  await writeFile(path("ca.crt"), authority.cert);
  await writeFile(path("collector.crt"), server.cert);
  await writeFile(path("collector.key"), server.key);
  collector = await startCollector({ tls: { certificate: path("collector.crt"), key: path("collector.key") } });
  source = await startFileServer();
  world = await createWorld("traces", { simulator: { timeScale: 1, bootDelayMs: 4_000 } });
  await world.apply({ kind: "ArtifactStore", metadata: { name: "results" }, spec: { volume: { path: "results" } } });
});
afterAll(async () => {
  await collector?.stop();
  await source?.close();
  await rm(folder, { recursive: true, force: true });
});

/** With TLS and a header, as for a collector outside the cluster. */
const start = (endpoint = collector.endpoint) =>
  world.startOperator({
    args: [`--artifact-root=${folder}`, `--otlp-endpoint=${endpoint}`],
    within: [
      "env",
      `OTEL_EXPORTER_OTLP_CERTIFICATE=${join(folder, "ca.crt")}`,
      `OTEL_EXPORTER_OTLP_HEADERS=x-api-key=${CANARIES.header}`,
    ],
  });
const output = { storeRef: { name: "results" } };
const phase = (name: string, wanted: string) =>
  eventually(`${name} is ${wanted}`, async () => {
    const job = await world.get("VideoJob", name);
    return job.status?.phase === wanted && job;
  });
const uidOf = ({ metadata }: AnyObject) => metadata.uid ?? "";

/** The spans of the trace that has this object as its root, as often as they arrived. */
async function received(uid: string, matches: (root: CollectedSpan) => boolean = () => true): Promise<CollectedSpan[]> {
  const spans = await collector.spans();
  const traces = new Set(
    spans.filter((span) => span.attributes["mooring.uid"] === uid && matches(span)).map(({ traceID }) => traceID),
  );
  return spans.filter(({ traceID }) => traces.has(traceID));
}

/** Each span once: a span that arrives again is the same. */
function distinct(spans: readonly CollectedSpan[]): CollectedSpan[] {
  const found = new Map<string, CollectedSpan>();
  for (const { resource, ...span } of spans) {
    const known = found.get(span.spanID);
    if (known !== undefined) expect({ ...span, resource: known.resource }).toEqual(known);
    else found.set(span.spanID, { ...span, resource });
  }
  return [...found.values()];
}

/** What the service says of the task of a job from now on. */
async function taskIs(name: string, task: Record<string, unknown>): Promise<void> {
  await world.control("DELETE", "/__faults");
  const answer = { kind: "status", status: 200, probability: 1 };
  await world.control("POST", "/__faults", [
    { ...answer, operation: "submitImageToVideo", match: name, body: { task_id: `task-${name}` } },
    { ...answer, operation: "getTaskResult", match: `task-${name}`, body: task },
  ]);
}
const succeeded = (url: string) => ({
  task: { status: "TASK_STATUS_SUCCEED" },
  videos: [{ video_url: `${url}?X-Signature=${CANARIES.signature}`, video_url_ttl: "3600", video_type: "mp4" }],
});

it("the trace of a job that survived two kill -9 is complete, and a part of the trace that its annotation names", async () => {
  const name = "survivor";
  const job = manifest("image", { imageToVideo: { prompt: `${name} ${CANARIES.prompt}` }, output }, name);
  const metadata = { name, annotations: { "mooring.dev/traceparent": `00-${TRACE}-${PARENT}-01` } };
  await taskIs(name, { task: { status: "TASK_STATUS_QUEUED" } });
  const first = await start();
  const applied = await world.apply({ ...job, metadata });
  await phase(name, "Queued");
  await taskIs(name, { task: { status: "TASK_STATUS_PROCESSING", progress_percent: 5 } });
  await phase(name, "Running");
  await first.kill();

  const file = { bytes: 2_000_000, etag: '"1"' };
  source.files.set(`/${name}`, { ...file, hangAfter: 1_000_000 });
  await taskIs(name, succeeded(`${source.url}/${name}`));
  const second = await start();
  await phase(name, "Storing");
  await second.kill();
  expect(await received(uidOf(applied))).toEqual([]);

  source.files.set(`/${name}`, file);
  const third = await start();
  const done = await waitForCondition(world, "VideoJob", name, "Complete");
  const spans = await eventually("the trace is at the collector", async () => {
    const found = await received(uidOf(applied));
    return found.length > 0 && found;
  });
  const [root] = spans;
  expectWellFormed(spans);
  expect(root).toMatchObject({ name: "VideoJob", traceID: TRACE, parentSpanID: PARENT });

  const timeline = done.status?.["timeline"] as PhaseStart[];
  expect(timeline.map((entry) => entry.phase)).toEqual(["Submitting", "Queued", "Running", "Storing", "Succeeded"]);
  const created = Date.parse(done.metadata.creationTimestamp ?? "");
  const [sent = 0, queued = 0, running = 0, storing = 0, end = 0] = timeline.map(
    ({ time }) => Date.parse(time) - created,
  );
  expect(treeOf(spans, created)).toEqual([
    `VideoJob 0-${end}`,
    `  pending 0-${sent}`,
    `  attempt ${sent}-${storing}`,
    `    submit ${sent}-${queued}`,
    `    remote queue ${queued}-${running}`,
    `    remote run ${running}-${storing}`,
    `  store ${storing}-${end}`,
  ]);
  expect(root?.attributes).toEqual({
    "k8s.namespace.name": world.namespace,
    "mooring.kind": "VideoJob",
    "mooring.name": name,
    "mooring.uid": uidOf(applied),
    "mooring.operation": "submitImageToVideo",
    "mooring.outcome": "Succeeded",
    "mooring.attempts": 1,
  });
  expect(spans.find((span) => span.name === "attempt")?.attributes["mooring.task.id"]).toBe(`task-${name}`);
  expect(root?.resource).toMatchObject({ "service.name": "mooring", "k8s.cluster.uid": expect.any(String) });

  // The trace comes again after another kill, because this process cannot know that it arrived. It is the same one.
  await third.kill();
  const fourth = await start();
  const again = await eventually("the trace arrives again", async () => {
    const found = await received(uidOf(applied));
    return found.length === 2 * spans.length && found;
  });
  expect(distinct(again)).toEqual(spans);
  expect(await fourth.stop()).toBe(0);
});

it("a job whose operator is killed when it has just ended has its trace after the next start", async () => {
  const name = "just-ended";
  await taskIs(name, { task: { status: "TASK_STATUS_QUEUED" } });
  const operator = await start();
  const job = manifest("image", { imageToVideo: { prompt: name } }, name);
  const applied = await world.apply(job);
  await phase(name, "Queued");
  await taskIs(name, succeeded(`${source.url}/none`));
  await waitForCondition(world, "VideoJob", name, "Complete");
  await operator.kill();

  const next = await start();
  const spans = await eventually("the trace is at the collector", async () => {
    const found = distinct(await received(uidOf(applied)));
    return found.length > 0 && found;
  });
  expectWellFormed(spans);
  expect(spans.map((span) => span.name)).toEqual(["VideoJob", "attempt", "pending", "submit", "remote queue"]);
  expect(spans[0]?.parentSpanID).toBeUndefined();
  expect(await next.stop()).toBe(0);
});

it("an annotation that is no traceparent is ignored, with one event", async () => {
  const operator = await start();
  const job = manifest("turbo", { text: "misled" }, "misled");
  const metadata = { name: "misled", annotations: { "mooring.dev/traceparent": "not a traceparent" } };
  const applied = await world.apply({ ...job, metadata });
  await waitForCondition(world, "SpeechJob", "misled", "Complete");
  const events = await eventually("the event is there", async () => {
    const found = await eventsOf(world, "SpeechJob", "misled");
    return found.some((event) => event.startsWith("Warning InvalidTraceparent")) && found;
  });
  expect(events.filter((event) => event.includes("InvalidTraceparent"))).toHaveLength(1);
  const spans = await eventually("the trace is at the collector", async () => {
    const found = await received(uidOf(applied));
    return found.length > 0 && found;
  });
  expect(spans.map((span) => span.name)).toEqual(["SpeechJob", "attempt", "pending", "submit"]);
  expect(await operator.stop()).toBe(0);
});

it("each change of an endpoint has a trace from its observation to Ready, also over a kill -9", async () => {
  const first = await start();
  const env = [{ name: "TOKEN", value: CANARIES.secret }];
  const applied = await world.apply(manifest("endpoint", { env }, "traced"));
  await eventually(
    "the endpoint is created",
    async () => (await world.get("GpuEndpoint", "traced")).status?.["endpointID"],
  );
  await first.kill();
  const second = await start();
  await waitForCondition(world, "GpuEndpoint", "traced", "Ready");
  const change = (generation: number) =>
    eventually(`the trace of generation ${generation} is at the collector`, async () => {
      const found = await received(uidOf(applied), ({ attributes }) => attributes["mooring.generation"] === generation);
      return found.length > 0 && found;
    });

  const create = await change(1);
  const created = Date.parse(applied.metadata.creationTimestamp ?? "");
  const { lastChange } = (await world.get("GpuEndpoint", "traced")).status as {
    lastChange: Record<"sentTime" | "acceptedTime" | "syncedTime" | "readyTime", string>;
  };
  const at = (time: keyof typeof lastChange) => Date.parse(lastChange[time]) - created;
  expectWellFormed(create);
  expect(treeOf(create, created)).toEqual([
    `GpuEndpoint 0-${at("readyTime")}`,
    `  prepare 0-${at("sentTime")}`,
    `  request ${at("sentTime")}-${at("acceptedTime")}`,
    `  confirm ${at("acceptedTime")}-${at("syncedTime")}`,
    `  boot ${at("syncedTime")}-${at("readyTime")}`,
  ]);

  const patched = await world.patch("GpuEndpoint", "traced", { spec: { workers: { max: 3 } } });
  const update = await change(patched.metadata.generation ?? 0);
  expectWellFormed(update);
  expect(update.map((span) => span.name)).toEqual(["GpuEndpoint", "prepare", "request", "confirm", "boot"]);
  expect(update[0]?.attributes).toMatchObject({ "mooring.generation": 2, "mooring.outcome": "Ready" });
  expect(update[0]?.traceID).not.toBe(create[0]?.traceID);
  expect(await second.stop()).toBe(0);
});

it("no trace has a prompt, a URL with a signature or a secret, and no log has a header", async () => {
  const operator = await start();
  const text = await collector.text();
  expect(text).toContain("mooring.operation");
  for (const canary of [...Object.values(CANARIES), API_KEY, source.url]) expect(text).not.toContain(canary);
  await operator.stop();
  expect(operator.log()).not.toContain(CANARIES.header);
});

it("a collector that cannot be reached delays no job and no stop, and is logged once", async () => {
  const operator = await start("http://127.0.0.1:9");
  for (const name of ["unseen-1", "unseen-2"]) {
    await world.apply(manifest("turbo", { text: name }, name));
    const job = await waitForCondition(world, "SpeechJob", name, "Complete");
    expect(condition(job, "Ready")?.status).toBe("True");
  }
  const [, port] = /"metrics":(\d+)/.exec(operator.log()) ?? [];
  await eventually("the metric counts them", async () => {
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    return Number(/^mooring_trace_spans_total\{result="failed"\} (\d+)$/m.exec(metrics)?.[1]) >= 8;
  });
  const began = performance.now();
  expect(await operator.stop()).toBe(0);
  expect(performance.now() - began).toBeLessThan(15_000);
  expect(operator.log().match(/traces cannot be sent to the collector/g)).toHaveLength(1);
});
