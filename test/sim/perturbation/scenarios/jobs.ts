import { manifest, type Variant } from "../../../support/manifests.ts";

import { type Stage, waitForCondition } from "../../stage/stage.ts";
import type { Scenario } from "../scenario.ts";

const NAME = "sea";
/** Tasks end after the first poll that sees them queued. */
const QUICK = { queueMs: [500, 500], speechTaskMs: [1_000, 1_000], videoTaskMs: [1_000, 1_000] } as const;
const simulator = { timeScale: 1, speechLatencyMs: 50, ...QUICK } as unknown as NonNullable<Scenario["simulator"]>;

const kindOf = (variant: Variant) => (variant === "image" ? "VideoJob" : "SpeechJob");
const complete = async (stage: Stage, variant: Variant, change: object = {}) => {
  await stage.apply(manifest(variant, { ...change }, NAME));
  return waitForCondition(stage, kindOf(variant), NAME, "Complete");
};
const withStore = async (stage: Stage) => {
  await stage.apply({ kind: "ArtifactStore", metadata: { name: "results" }, spec: { volume: { path: "results" } } });
  return waitForCondition(stage, "ArtifactStore", "results", "Ready");
};
const output = { storeRef: { name: "results" } };
const submitted = (stage: Stage, variant: Variant) =>
  stage.eventually("the job has a task", async () => {
    const { status } = await stage.get(kindOf(variant), NAME);
    return status?.["taskID"] !== undefined;
  });

export const JOB_SCENARIOS: readonly Scenario[] = [
  { name: "speech, synchronous", simulator, act: (stage) => complete(stage, "turbo") },
  { name: "speech, asynchronous", simulator, act: (stage) => complete(stage, "hd") },
  { name: "video", simulator, act: (stage) => complete(stage, "image") },
  {
    name: "video with output to a store",
    simulator,
    prepare: withStore,
    act: (stage) => complete(stage, "image", { output }),
  },
  {
    name: "speech stream with output to a store",
    simulator,
    prepare: withStore,
    act: (stage) => complete(stage, "turbo", { output, stream: true }),
  },
  {
    name: "job: suspend before the submission, and resume",
    simulator,
    prepare: async (stage) => {
      await stage.apply(manifest("hd", { suspend: true }, NAME));
      return waitForCondition(stage, "SpeechJob", NAME, "Suspended");
    },
    act: async (stage) => {
      await stage.patch("SpeechJob", NAME, { spec: { suspend: false } });
      return waitForCondition(stage, "SpeechJob", NAME, "Complete");
    },
  },
  {
    name: "job: delete while its task runs",
    simulator: { ...simulator, speechTaskMs: [600_000, 600_000] },
    prepare: async (stage) => {
      await stage.apply(manifest("hd", {}, NAME));
      return submitted(stage, "hd");
    },
    act: async (stage) => {
      await stage.remove("SpeechJob", NAME);
      await stage.eventually("the job is gone", async () => (await stage.list("SpeechJob")).length === 0);
    },
  },
  {
    name: "job: delete while its results are copied",
    simulator: { ...simulator, videoPaddingBytes: 20_000_000 },
    // A copy that is complete when the job is deleted stays in the store.
    ignores: /^\.files/,
    prepare: withStore,
    act: async (stage) => {
      await stage.apply(manifest("image", { output }, NAME));
      await stage.eventually("the job stores its results", async () => {
        const { status } = await stage.get("VideoJob", NAME);
        return ["Storing", "Succeeded"].includes(String(status?.["phase"]));
      });
      await stage.remove("VideoJob", NAME);
      await stage.eventually("the job is gone", async () => (await stage.list("VideoJob")).length === 0);
    },
  },
  {
    name: "job: a second attempt after a failed task",
    simulator: { ...simulator, failTasksWith: "Ahoy" },
    act: async (stage) => {
      await stage.apply(manifest("hd", { backoffLimit: 1 }, NAME));
      return waitForCondition(stage, "SpeechJob", NAME, "Failed");
    },
  },
];
