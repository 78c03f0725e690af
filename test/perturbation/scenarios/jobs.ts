import { manifest, type Variant } from "../../support/manifests.ts";
import { eventually, type World, waitForCondition } from "../../support/world.ts";
import type { Scenario } from "../scenario.ts";

const NAME = "sea";
/** Tasks end after the first poll that sees them queued. */
const QUICK = { queueMs: [500, 500], speechTaskMs: [1_000, 1_000], videoTaskMs: [1_000, 1_000] } as const;
const simulator = { timeScale: 1, speechLatencyMs: 50, ...QUICK } as unknown as NonNullable<Scenario["simulator"]>;

const kindOf = (variant: Variant) => (variant === "image" ? "VideoJob" : "SpeechJob");
const complete = async (world: World, variant: Variant, change: object = {}) => {
  await world.apply(manifest(variant, { ...change }, NAME));
  return waitForCondition(world, kindOf(variant), NAME, "Complete");
};
const withStore = async (world: World) => {
  await world.apply({ kind: "ArtifactStore", metadata: { name: "results" }, spec: { volume: { path: "results" } } });
  return waitForCondition(world, "ArtifactStore", "results", "Ready");
};
const output = { storeRef: { name: "results" } };
const submitted = (world: World, variant: Variant) =>
  eventually("the job has a task", async () => {
    const { status } = await world.get(kindOf(variant), NAME);
    return status?.["taskID"] !== undefined;
  });

export const JOB_SCENARIOS: readonly Scenario[] = [
  { name: "speech, synchronous", simulator, act: (world) => complete(world, "turbo") },
  { name: "speech, asynchronous", simulator, act: (world) => complete(world, "hd") },
  { name: "video", simulator, act: (world) => complete(world, "image") },
  {
    name: "video with output to a store",
    simulator,
    prepare: withStore,
    act: (world) => complete(world, "image", { output }),
  },
  {
    name: "speech stream with output to a store",
    simulator,
    prepare: withStore,
    act: (world) => complete(world, "turbo", { output, stream: true }),
  },
  {
    name: "job: suspend before the submission, and resume",
    simulator,
    prepare: async (world) => {
      await world.apply(manifest("hd", { suspend: true }, NAME));
      return waitForCondition(world, "SpeechJob", NAME, "Suspended");
    },
    act: async (world) => {
      await world.patch("SpeechJob", NAME, { spec: { suspend: false } });
      return waitForCondition(world, "SpeechJob", NAME, "Complete");
    },
  },
  {
    name: "job: delete while its task runs",
    simulator: { ...simulator, speechTaskMs: [600_000, 600_000] },
    prepare: async (world) => {
      await world.apply(manifest("hd", {}, NAME));
      return submitted(world, "hd");
    },
    act: async (world) => {
      await world.remove("SpeechJob", NAME);
      await eventually("the job is gone", async () => (await world.list("SpeechJob")).length === 0);
    },
  },
  {
    name: "job: delete while its results are copied",
    simulator: { ...simulator, videoPaddingBytes: 20_000_000 },
    // A copy that is complete when the job is deleted stays in the store.
    ignores: /^\.files/,
    prepare: withStore,
    act: async (world) => {
      await world.apply(manifest("image", { output }, NAME));
      await eventually("the job stores its results", async () => {
        const { status } = await world.get("VideoJob", NAME);
        return ["Storing", "Succeeded"].includes(String(status?.["phase"]));
      });
      await world.remove("VideoJob", NAME);
      await eventually("the job is gone", async () => (await world.list("VideoJob")).length === 0);
    },
  },
  {
    name: "job: a second attempt after a failed task",
    simulator: { ...simulator, failTasksWith: "Ahoy" },
    act: async (world) => {
      await world.apply(manifest("hd", { backoffLimit: 1 }, NAME));
      return waitForCondition(world, "SpeechJob", NAME, "Failed");
    },
  },
];
