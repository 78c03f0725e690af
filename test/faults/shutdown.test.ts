import { expect, it } from "vitest";
import { manifest } from "../support/manifests.ts";
import { closeWorldsAfterAll, disposableWorld, eventually, waitForCondition } from "../support/world.ts";

closeWorldsAfterAll();

it("SIGTERM waits for a synchronous request that takes longer than 20 s; a second job is not sent meanwhile", async () => {
  const world = await disposableWorld("sigterm-long");
  const operator = await world.startOperator();
  await waitForCondition(world, "Account", "default", "Ready");
  await world.control("POST", "/__faults", [
    { operation: "synthesizeSpeech", kind: "latency", latencyMs: 28_000, after: true, times: 1 },
  ]);
  await world.apply(manifest("turbo", {}, "long"));
  await eventually("the request took effect", async () => (await world.audit("synthesizeSpeech")).length === 1);
  const stopped = operator.stop();
  await world.apply(manifest("turbo", { text: "after the stop" }, "later"));
  expect(await stopped).toBe(0);

  const { status } = await world.get("SpeechJob", "long");
  expect(status).toMatchObject({ phase: "Succeeded", submission: { state: "Accepted", attempt: 1 } });
  expect(await world.audit("synthesizeSpeech")).toHaveLength(1);
});

it("SIGTERM finishes what is being sent, and its status writes, before the operator ends", async () => {
  const world = await disposableWorld("sigterm");
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
  const journal = (await world.get("ConfigMap", "mooring-journal")) as unknown as { data: { intents: string } };
  expect(journal.data.intents).toBe("[]");

  await world.startOperator();
  await waitForCondition(world, "SpeechJob", "sent", "Complete");
  expect(await world.audit("submitSpeech")).toHaveLength(1);
  expect(await world.audit("createEndpoint")).toHaveLength(1);
});
