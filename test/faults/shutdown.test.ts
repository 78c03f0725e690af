import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { manifest } from "../support/manifests.ts";
import { openRecordsOf } from "../support/open-records.ts";
import { createWorld, eventually, waitForCondition } from "../support/world.ts";

it("SIGTERM waits for a request and a stream that take longer than 20 s; another job is not sent meanwhile", async () => {
  const root = await mkdtemp(join(tmpdir(), "mooring-shutdown-"));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  // The stream has 32 chunks in 28 s.
  const world = await createWorld("sigterm-long", {
    simulator: { timeScale: 0.1, streamChunkBytes: 2_000, streamChunkMs: 8_750 },
  });
  const operator = await world.startOperator({ args: [`--artifact-root=${root}`] });
  await world.apply({ kind: "ArtifactStore", metadata: { name: "disk" }, spec: { volume: { path: "disk" } } });
  await waitForCondition(world, "ArtifactStore", "disk", "Ready");
  await waitForCondition(world, "Account", "default", "Ready");
  await world.control("POST", "/__faults", [
    { operation: "synthesizeSpeech", kind: "latency", latencyMs: 28_000, after: true, times: 1 },
  ]);
  const output = { storeRef: { name: "disk" } };
  await world.apply(manifest("turbo", {}, "request"));
  await world.apply(manifest("turbo", { text: "x".repeat(60), stream: true, output }, "stream"));
  await eventually("the request took effect", async () => (await world.audit("synthesizeSpeech")).length === 1);
  await eventually(
    "the stream has begun",
    async () => (await world.get("SpeechJob", "stream")).status?.["firstAudioMs"],
  );
  const stopped = operator.stop();
  await world.apply(manifest("turbo", { text: "after the stop" }, "later"));
  expect(await stopped).toBe(0);

  for (const name of ["request", "stream"]) {
    const { status } = await world.get("SpeechJob", name);
    expect(status).toMatchObject({ phase: "Succeeded", submission: { state: "Accepted", attempt: 1 } });
  }
  expect(await world.audit("synthesizeSpeech")).toHaveLength(1);
  expect(await world.audit("streamSpeech")).toHaveLength(1);
});

it("SIGTERM finishes what is being sent, and its status writes, before the operator ends", async () => {
  const world = await createWorld("sigterm");
  const operator = await world.startOperator();
  await waitForCondition(world, "Account", "default", "Ready");
  // Each answer takes 3 s after its effect: long enough to be told to stop in between.
  await world.control("POST", "/__faults", [
    { operation: "submitSpeech", kind: "latency", latencyMs: 3000, after: true, times: 1 },
    { operation: "createEndpoint", kind: "latency", latencyMs: 3000, after: true, times: 1 },
  ]);
  await world.apply(manifest("hd", {}, "sent"));
  await world.apply(manifest("endpoint", {}, "sent"));
  await eventually("both requests took effect", async () => {
    const { endpoints, tasks } = await world.state();
    return endpoints.length === 1 && tasks.length === 1;
  });
  expect((await world.get("SpeechJob", "sent")).status?.taskID).toBeUndefined();
  expect(await operator.stop()).toBe(0);

  const { endpoints, tasks } = await world.state();
  expect((await world.get("SpeechJob", "sent")).status).toMatchObject({
    taskID: tasks[0]?.id,
    submission: { state: "Accepted", attempt: 1 },
  });
  expect((await world.get("GpuEndpoint", "sent")).status?.endpointID).toBe(endpoints[0]?.id);
  expect(await openRecordsOf(world)).toEqual([]);

  await world.startOperator();
  await waitForCondition(world, "SpeechJob", "sent", "Complete");
  expect(await world.audit("submitSpeech")).toHaveLength(1);
  expect(await world.audit("createEndpoint")).toHaveLength(1);
});
