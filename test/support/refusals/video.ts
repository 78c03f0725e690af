import type { Change } from "../manifests.ts";
import { type Refusal, refusalsOf } from "./refusal.ts";

const video = refusalsOf("image");
const referenced = refusalsOf("reference");
const lora = { path: "example/waves-14b", scale: 1 };
const image = (bad: Change, good: Change, message: string) =>
  video({ imageToVideo: bad }, { imageToVideo: good }, message);
const reference = (bad: Change, good: Change, message: string) =>
  referenced({ videoToVideo: bad }, { videoToVideo: good }, message);
const range = (field: string, low: number, high: number, below: number, above: number): Refusal[] => [
  image({ [field]: below }, { [field]: low }, `should be greater than or equal to ${low}`),
  image({ [field]: above }, { [field]: high }, `should be less than or equal to `),
];
const oneMode = "exactly one of imageToVideo and videoToVideo is required: set one, remove the other";
const paired = "width and height go together: set both, as one of 480x832, 832x480, 720x1280, 1280x720, or neither";

const object = { object: { storeRef: { name: "media" }, key: "sea.bin" } };
const jobRef = { kind: "SpeechJob", name: "words" };
const oneImage = "exactly one of imageURL and imageFrom is required: set one, remove the other";
const oneSource = "audioFrom needs exactly one of object and jobRef: set one, remove the other";

export const videoRefusals: readonly Refusal[] = [
  video({ videoToVideo: { input: { prompt: "b" } } }, {}, oneMode),
  video({ imageToVideo: null }, {}, oneMode),
  image({ width: 832 }, { width: 832, height: 480 }, paired),
  image({ height: 480 }, { width: 720, height: 1280 }, paired),
  image(
    { width: 832, height: 720 },
    { width: 1280, height: 720 },
    "width x height must be one of 480x832, 832x480, 720x1280, 1280x720: choose one, or set neither",
  ),
  image(
    { loras: [lora, lora, lora, lora] },
    { loras: [lora, lora, lora] },
    "loras must have at most 3 items: remove some",
  ),
  image(
    { loras: [{ ...lora, scale: 4.1 }] },
    { loras: [{ ...lora, scale: 4 }] },
    "spec.imageToVideo.loras[0].scale in body should be less than or equal to 4",
  ),
  image(
    { loras: [{ ...lora, scale: -0.1 }] },
    { loras: [{ ...lora, scale: 0 }] },
    "spec.imageToVideo.loras[0].scale in body should be greater than or equal to 0",
  ),
  ...range("seed", -1, 9_999_999_999, -2, 10_000_000_000),
  ...range("steps", 1, 40, 0, 41),
  ...range("guidanceScale", 0, 10, -0.5, 10.5),
  ...range("flowShift", 1, 10, 0.5, 10.5),
  image({ prompt: "p".repeat(2001) }, { prompt: "p".repeat(2000) }, "Too long: may not be more than 2000"),
  image({ prompt: "" }, { prompt: "p" }, "spec.imageToVideo.prompt in body should be at least 1 chars long"),
  image({ negativePrompt: "p".repeat(2001) }, { negativePrompt: "" }, "Too long: may not be more than 2000"),
  image(
    { imageURL: "file:///etc/passwd" },
    { imageURL: "http://images.example.com/a.png" },
    "imageURL must be an http:// or https:// URL without white space; give the full address",
  ),
  image({ imageFrom: object }, {}, oneImage),
  image({ imageURL: null }, { imageURL: null, imageFrom: object }, oneImage),
  reference(
    { input: { audioURL: "https://audio.example.com/a.mp3", audioFrom: object } },
    { input: { audioFrom: object } },
    "at most one of audioURL and audioFrom can be set: remove one",
  ),
  reference({ input: { audioFrom: { ...object, jobRef } } }, { input: { audioFrom: { jobRef } } }, oneSource),
  reference({ input: { audioFrom: {} } }, { input: { audioFrom: object } }, oneSource),
  reference(
    { input: { audioFrom: { jobRef: { ...jobRef, kind: "GpuEndpoint" } } } },
    { input: { audioFrom: { jobRef: { ...jobRef, kind: "VideoJob" } } } },
    'spec.videoToVideo.input.audioFrom.jobRef.kind: Unsupported value: "GpuEndpoint": supported values: "SpeechJob", "VideoJob"',
  ),
  reference(
    { parameters: { size: "640*480" } },
    { parameters: { size: "1632*1248" } },
    'spec.videoToVideo.parameters.size: Unsupported value: "640*480": supported values: "1280*720"',
  ),
  reference(
    { parameters: { duration: 7 } },
    { parameters: { duration: 10 } },
    'spec.videoToVideo.parameters.duration: Unsupported value: 7: supported values: "5", "10"',
  ),
  reference(
    { parameters: { shotType: "double" } },
    { parameters: { shotType: "multi" } },
    'spec.videoToVideo.parameters.shotType: Unsupported value: "double": supported values: "single", "multi"',
  ),
  reference(
    { input: { referenceURLs: ["sea.mp4"] } },
    { input: { referenceURLs: ["https://videos.example.com/sea.mp4"] } },
    "referenceURLs must be an http:// or https:// URL without white space; give the full address",
  ),
];
