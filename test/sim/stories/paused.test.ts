import { expect, it, onTestFinished } from "vitest";
import { manifest } from "../../support/manifests.ts";
import { condition } from "../../support/world.ts";
import { createStage, waitForCondition } from "../stage/stage.ts";

const paused = (value: "true" | null) => ({ metadata: { annotations: { "mooring.dev/paused": value } } });

/** A process that is told to stop has ended. */
const STOPPED_MS = 20_000;

it("given a paused Account, when the operator restarts, its objects say what they wait for", async () => {
  const world = await createStage();
  onTestFinished(world.end);
  const first = world.start();
  await waitForCondition(world, "Account", "default", "Ready");
  first.stop();
  await world.pass(STOPPED_MS);
  await world.patch("Account", "default", paused("true"));
  await world.apply(manifest("hd", { text: "waits" }, "waits"));
  await world.apply(manifest("endpoint", {}, "waits"));
  world.start();
  for (const kind of ["SpeechJob", "GpuEndpoint"]) {
    const object = await waitForCondition(world, kind, "waits", "Ready", "False");
    expect(condition(object, "Ready"), kind).toMatchObject({
      reason: "AccountNotReady",
      message: expect.stringContaining(
        "Account default is not ready: it is paused, and the operator has not used it since its start: remove the annotation mooring.dev/paused",
      ),
    });
  }
  await world.patch("Account", "default", paused(null));
  await waitForCondition(world, "SpeechJob", "waits", "Complete");
  await waitForCondition(world, "GpuEndpoint", "waits", "Ready");
});

it("given a paused ArtifactStore, when the operator restarts, a job says what it waits for", async () => {
  const world = await createStage();
  onTestFinished(world.end);
  await world.apply({
    kind: "ArtifactStore",
    metadata: { name: "results", ...paused("true").metadata },
    spec: { volume: { path: "results" } },
  });
  await world.apply(manifest("hd", { text: "waits", output: { storeRef: { name: "results" } } }, "waits"));
  world.start();
  const job = await world.eventually("the job says so", async () => {
    const found = await world.get("SpeechJob", "waits");
    return condition(found, "Ready")?.reason === "StoreNotReady" && found;
  });
  expect(condition(job, "Ready")?.message).toContain("it is paused");
});

it("given a job that is paused while its request is in flight, a stop of the operator records the outcome and takes no longer", async () => {
  const world = await createStage();
  onTestFinished(world.end);
  const operator = world.start();
  await waitForCondition(world, "Account", "default", "Ready");
  await world.control("POST", "/__faults", {
    operation: "submitSpeech",
    match: "slow",
    kind: "latency",
    latencyMs: 5_000,
  });
  await world.apply(manifest("hd", { text: "slow" }, "flight"));
  await world.eventually(
    "it is in flight",
    async () => (await world.get("SpeechJob", "flight")).status?.phase === "Submitting",
  );
  await world.patch("SpeechJob", "flight", paused("true"));
  operator.stop();
  await world.eventually("the operator has ended", async () => world.exits().length > 0, STOPPED_MS);
  const { status } = await world.get("SpeechJob", "flight");
  expect(status).toMatchObject({ phase: "Queued", attempts: 1, taskID: expect.any(String) });
  expect(await world.audit("submitSpeech")).toHaveLength(1);
});
