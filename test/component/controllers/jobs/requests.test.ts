import { describe, expect, it } from "vitest";
import { speechRequest } from "../../../../src/controllers/jobs/requests/speech.ts";
import { videoModelOf, videoRequest } from "../../../../src/controllers/jobs/requests/video.ts";
import { createValueReader } from "../../../../src/controllers/references.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { speechJobOf, videoJobOf } from "../../../support/jobs.ts";
import type { Change } from "../../../support/manifests.ts";
import { scriptedApi } from "../../../support/scripted-api-server.ts";
import { accountAt, scriptedService } from "../../../support/service-account.ts";
import { NOTHING_READ } from "../../../support/shared.ts";

/** What the service receives, and what the job then knows. */
async function sent(
  kind: "turbo" | "hd" | "image" | "reference",
  change: Change,
  maxSpeechCharacters = 50_000,
  answer: unknown = { task_id: "task-1", audio: "https://files.example.com/a" },
) {
  const service = await scriptedService(() => ({ body: answer }));
  const secret = { key: Buffer.from("from a Secret").toString("base64") };
  const configMap = { key: "from a ConfigMap", pause: "one <#0#> two", empty: "" };
  const api = await scriptedApi(({ path }) => ({
    body: { metadata: { name: "text" }, data: path.includes("secrets") ? secret : configMap },
  }));
  const account = accountAt(service.url, { maxSpeechCharacters });
  const request =
    kind === "turbo" || kind === "hd"
      ? await speechRequest(
          speechJobOf(kind, change),
          account,
          createValueReader(api.client, new AbortController().signal),
        )
      : await videoRequest(videoJobOf(kind, change), NOTHING_READ);
  const accepted = await request.send({
    session: account,
    options: {},
    clock: createFakeClock(),
    openArtifact: undefined,
    progress: { firstAudio() {} },
  });
  return { accepted, operation: request.operation, path: service.requests[0]?.path, body: service.requests[0]?.body };
}

describe("a SpeechJob", () => {
  it("of the synchronous model sends the smallest request, and has its URL at once", async () => {
    expect(await sent("turbo", {})).toEqual({
      operation: "synthesizeSpeech",
      path: "/v3/vendor-speech-2.6-turbo",
      body: { text: "Ahoy.", voice_setting: { voice_id: "announcer" }, output_format: "url", stream: false },
      accepted: {
        results: [
          { kind: "Audio", url: "https://files.example.com/a", type: "mp3", expiresAt: "2026-03-02T00:00:00Z" },
        ],
      },
    });
  });

  it.each([
    ["asks for no audio in the last chunk, which may be longer than all before it", undefined, true],
    ["asks for it when told to", { excludeAggregatedAudio: false }, false],
  ])("that streams %s", async (_name, streamOptions, excluded) => {
    const chunks = 'data: {"audio":"0001","status":1}\n\ndata: {"audio":"0001","status":2}\n';
    const output = { storeRef: { name: "results" } };
    const { body } = await sent("turbo", { stream: true, streamOptions, output }, 50_000, chunks);
    expect(body).toMatchObject({ stream: true, stream_options: { exclude_aggregated_audio: excluded } });
    expect(body).not.toHaveProperty("output_format");
  });

  it("of the synchronous model sends every field in the service's spelling", async () => {
    const change = {
      text: "One <#0.5#> two",
      voiceSetting: {
        voiceID: "v",
        speed: 1.5,
        vol: 2,
        pitch: -1,
        emotion: "happy",
        latexRead: true,
        textNormalization: false,
      },
      audioSetting: { sampleRate: 32_000, bitrate: 128_000, format: "flac", channel: 1 },
      pronunciationDict: { tone: [{ word: "x" }] },
      languageBoost: "Chinese,Yue",
      voiceModify: { pitch: 1, intensity: 2, timbre: 3, soundEffects: "echo" },
      aigcWatermark: true,
    };
    const { body, accepted } = await sent("turbo", change);
    expect(body).toEqual({
      text: "One <#0.5#> two",
      voice_setting: {
        voice_id: "v",
        speed: 1.5,
        vol: 2,
        pitch: -1,
        emotion: "happy",
        latex_read: true,
        text_normalization: false,
      },
      audio_setting: { sample_rate: 32_000, bitrate: 128_000, format: "flac", channel: 1 },
      pronunciation_dict: { tone: [{ word: "x" }] },
      language_boost: "Chinese,Yue",
      voice_modify: { pitch: 1, intensity: 2, timbre: 3, sound_effects: "echo" },
      aigc_watermark: true,
      output_format: "url",
      stream: false,
    });
    expect(accepted).toMatchObject({ results: [{ type: "flac" }] });
  });

  it("mixes voices instead of naming one", async () => {
    const change = {
      voiceSetting: { voiceID: null },
      timbreWeights: [
        { voiceID: "a", weight: 1 },
        { voiceID: "b", weight: 3 },
      ],
    };
    expect((await sent("turbo", change)).body).toMatchObject({
      timbre_weights: [
        { voice_id: "a", weight: 1 },
        { voice_id: "b", weight: 3 },
      ],
    });
  });

  it("of the asynchronous model becomes a task, and never sends what only the other model knows", async () => {
    const { body, ...rest } = await sent("hd", { languageBoost: "auto" });
    expect(rest).toEqual({
      operation: "submitSpeech",
      path: "/v3/async/vendor-speech-2.6-hd",
      accepted: { taskID: "task-1" },
    });
    expect(body).toEqual({ text: "Ahoy.", voice_setting: { voice_id: "announcer" }, language_boost: "auto" });
  });

  it.each([
    ["a Secret", { secretKeyRef: { name: "text", key: "key" } }, "from a Secret"],
    ["a ConfigMap", { configMapKeyRef: { name: "text", key: "key" } }, "from a ConfigMap"],
  ])("takes its text from %s", async (_name, textFrom, text) => {
    expect((await sent("hd", { text: null, textFrom })).body).toMatchObject({ text });
  });

  it.each<[string, "turbo" | "hd", Change, number, RegExp]>([
    [
      "longer than the account allows",
      "hd",
      { text: "x".repeat(101) },
      100,
      /the text has 101 characters, speech-2.6-hd takes 1 to 100: split it/,
    ],
    [
      "whose pause is malformed",
      "turbo",
      { text: null, textFrom: { configMapKeyRef: { name: "text", key: "pause" } } },
      50_000,
      /text has a malformed pause marker/,
    ],
    [
      "that is empty",
      "hd",
      { text: null, textFrom: { configMapKeyRef: { name: "text", key: "empty" } } },
      50_000,
      /the text has 0 characters/,
    ],
  ])("with a text %s is not sent", async (_name, kind, change, limit, message) => {
    await expect(sent(kind, change, limit)).rejects.toMatchObject({
      name: "InvalidJobError",
      message: expect.stringMatching(message),
    });
  });

  it("counts characters, not halves of them", async () => {
    expect((await sent("hd", { text: "🚢".repeat(100) }, 100)).body).toMatchObject({ text: "🚢".repeat(100) });
  });
});

describe("a VideoJob", () => {
  it("from an image sends the smallest request: the service's own defaults hold", async () => {
    expect(await sent("image", {})).toEqual({
      operation: "submitImageToVideo",
      path: "/v3/async/vid-i2v",
      body: { prompt: "Waves", image_url: "https://images.example.com/sea.png" },
      accepted: { taskID: "task-1" },
    });
  });

  it("from an image sends every field in the service's spelling", async () => {
    const imageToVideo = {
      negativePrompt: "no",
      width: 1280,
      height: 720,
      loras: [{ path: "p", scale: 0.5 }],
      seed: 7,
      steps: 20,
      guidanceScale: 4.5,
      flowShift: 3,
      enableSafetyChecker: false,
      fastMode: true,
      watermark: true,
    };
    expect((await sent("image", { imageToVideo })).body).toEqual({
      prompt: "Waves",
      image_url: "https://images.example.com/sea.png",
      negative_prompt: "no",
      width: 1280,
      height: 720,
      loras: [{ path: "p", scale: 0.5 }],
      seed: 7,
      steps: 20,
      guidance_scale: 4.5,
      flow_shift: 3,
      enable_safety_checker: false,
      fast_mode: true,
      watermark: true,
    });
  });

  it("from videos sends every field in the service's spelling", async () => {
    const videoToVideo = {
      input: { audioURL: "https://a.example.com/a.mp3", negativePrompt: "no" },
      parameters: {
        seed: 7,
        size: "1280*720",
        audio: true,
        duration: 5,
        shotType: "multi",
        watermark: false,
        promptExtend: true,
      },
    };
    const { body, path } = await sent("reference", { videoToVideo });
    expect(path).toBe("/v3/async/vid2.6-v2v");
    expect(body).toEqual({
      input: {
        prompt: "Waves",
        audio_url: "https://a.example.com/a.mp3",
        reference_urls: ["https://videos.example.com/sea.mp4"],
        negative_prompt: "no",
      },
      parameters: {
        seed: 7,
        size: "1280*720",
        audio: true,
        duration: 5,
        shot_type: "multi",
        watermark: false,
        prompt_extend: true,
      },
    });
  });

  it.each([
    ["image", "vid-i2v"],
    ["reference", "vid2.6-v2v"],
  ] as const)("from %s names its model", (variant, model) => {
    expect(videoModelOf(videoJobOf(variant))).toBe(model);
  });
});
