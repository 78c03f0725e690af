import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { PENDING_STATUS } from "../../../../src/api/v1alpha1/meta.ts";
import { registerJobMetrics } from "../../../../src/controllers/jobs/controller.ts";
import { speechJobOf, videoJobOf } from "../../../support/jobs.ts";

it("jobs are counted by kind and phase, each once, with every phase at hand", async () => {
  const registry = new Registry();
  let speech = [
    speechJobOf("hd"),
    speechJobOf("hd", {}, { ...PENDING_STATUS, phase: "Pending" }),
    speechJobOf("hd", {}, { ...PENDING_STATUS, phase: "Halted" }),
  ];
  registerJobMetrics(registry, {
    SpeechJob: () => speech,
    VideoJob: () => [videoJobOf("image", {}, { ...PENDING_STATUS, phase: "Running" })],
  });
  const text = await registry.metrics();
  expect(text).toContain('mooring_jobs{kind="SpeechJob",phase="Pending"} 2');
  expect(text).toContain('mooring_jobs{kind="SpeechJob",phase="Halted"} 1');
  expect(text).toContain('mooring_jobs{kind="SpeechJob",phase="Running"} 0');
  expect(text).toContain('mooring_jobs{kind="VideoJob",phase="Running"} 1');
  speech = [];
  expect(await registry.metrics()).toContain('mooring_jobs{kind="SpeechJob",phase="Halted"} 0');
});
