import { describe, expect, it } from "vitest";
import { jobPhases } from "../../../src/api/v1alpha1/job.ts";
import type { SpeechJob } from "../../../src/api/v1alpha1/speech-job.ts";
import type { VideoJob } from "../../../src/api/v1alpha1/video-job.ts";
import { KIND_ROWS } from "../../../src/operator/kinds.ts";
import { createStore } from "../../../src/runtime/store.ts";
import { speechJobOf, videoJobOf } from "../../support/jobs.ts";

const TEXT = "a very long text";
const speechJobs = () => createStore<SpeechJob>(KIND_ROWS.speechJobs.indexers("uid"), KIND_ROWS.speechJobs.trim);
const videoJobs = () => createStore<VideoJob>(KIND_ROWS.videoJobs.indexers("uid"), KIND_ROWS.videoJobs.trim);

describe("the informer's copy of a job", () => {
  it.each(jobPhases.map((phase) => ({ phase, kept: phase !== "Succeeded" && phase !== "Failed" })))(
    "in phase $phase has its text: $kept",
    ({ phase, kept }) => {
      const speech = speechJobOf("hd", { text: TEXT }, { phase, conditions: [] });
      const [image, reference] = [
        videoJobOf("image", { imageToVideo: { prompt: TEXT } }, { phase, conditions: [] }),
        videoJobOf("reference", { videoToVideo: { input: { prompt: TEXT } } }, { phase, conditions: [] }),
      ];
      const stored = [speechJobs().upsert(speech), videoJobs().upsert(image), videoJobs().upsert(reference)];
      expect(stored.map((change) => JSON.stringify(change?.object).includes(TEXT))).toEqual([kept, kept, kept]);
    },
  );

  it("loses its text with our own write of the end, and keeps its metadata, its status and the rest of its spec", () => {
    const store = speechJobs();
    const running = speechJobOf(
      "hd",
      { text: TEXT, ttlSecondsAfterFinished: 60 },
      { phase: "Running", conditions: [] },
    );
    store.upsert(running);
    const metadata = { ...running.metadata, resourceVersion: "8" };
    const ended: SpeechJob = {
      ...structuredClone(running),
      metadata,
      status: { phase: "Succeeded", conditions: [], taskID: "task-1" },
    };
    store.observeWrite(ended);
    const { text: _text, ...spec } = running.spec;
    expect(store.get("team/sea")).toEqual({ ...ended, spec });
    expect(store.byIndex("task", "task-1")).toHaveLength(1);
  });

  it("takes 10 MB for 5,000 finished jobs with 50,000 characters each", () => {
    const store = speechJobs();
    for (let i = 0; i < 5_000; i++) {
      const job = speechJobOf("hd", { text: String(i).padEnd(50_000, "x") }, { phase: "Succeeded", conditions: [] });
      store.upsert({ ...job, metadata: { ...job.metadata, name: `job-${i}`, uid: `uid-${i}` } });
    }
    expect(store.size()).toBe(5_000);
    expect([...store.list()].reduce((sum, job) => sum + JSON.stringify(job).length, 0)).toBeLessThan(10e6);
  });
});
