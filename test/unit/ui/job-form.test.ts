import { describe, expect, it } from "vitest";
import { jobManifest } from "../../../src/ui/job-manifest.ts";
import { formOf, INITIAL } from "../../../src/ui/page/forms/job-form.ts";

const made = (values: Record<string, string>) =>
  jobManifest(formOf({ ...INITIAL, namespace: "team", name: "sample", ...values }));

describe("the form of a job", () => {
  it("makes a SpeechJob with what is set", () => {
    const { yaml, problems } = made({
      text: 'Ahoy: "all"\naboard',
      voiceID: "announcer",
      format: "mp3",
      store: "results",
    });
    expect(problems).toEqual([]);
    expect(yaml).toBe(`apiVersion: mooring.dev/v1alpha1
kind: SpeechJob
metadata:
  name: sample
  namespace: team
spec:
  model: speech-2.6-turbo
  text: |-
    Ahoy: "all"
    aboard
  voiceSetting:
    voiceID: announcer
  audioSetting:
    format: mp3
  output:
    storeRef:
      name: results
`);
  });

  it("makes a VideoJob from an image, with the size as two numbers", () => {
    const { yaml, problems } = made({
      kind: "VideoJob",
      prompt: "Waves",
      imageURL: "https://images.example.com/sea.png",
      imageSize: "832x480",
      seed: "7",
    });
    expect(problems).toEqual([]);
    expect(yaml).toContain("    width: 832\n    height: 480\n    seed: 7\n");
  });

  it("makes a VideoJob from reference videos, one on each line", () => {
    const { yaml, problems } = made({
      kind: "VideoJob",
      source: "reference videos",
      prompt: "Waves",
      referenceURLs: "https://videos.example.com/a.mp4\n\n https://videos.example.com/b.mp4\n",
      duration: "5",
    });
    expect(problems).toEqual([]);
    expect(yaml).toContain("        - https://videos.example.com/a.mp4\n        - https://videos.example.com/b.mp4\n");
    expect(yaml).toContain("    parameters:\n      duration: 5\n");
  });

  it("shows what is wrong, by the rules of the CRD", () => {
    expect(made({ text: "", voiceID: "announcer", name: "Sample" }).problems).toEqual([
      { path: "metadata.name", message: expect.stringContaining("must be lower-case letters") },
      { path: "spec.text", message: expect.any(String) },
    ]);
  });
});
