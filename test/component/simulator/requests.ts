/** Requests from the interface document, in the service's own spelling: with the required fields, and with all fields. */

const workerConfig = { minNum: 0, maxNum: 2, freeTimeout: 60, maxConcurrent: 4, gpuNum: 1, requestTimeout: 300 };
const endpoint = {
  workerConfig,
  ports: [{ port: "8080" }],
  policy: { type: "queue" as const, value: 10 },
  image: { image: "registry.example.com/chat:1" },
  healthy: { path: "/health" },
};
const optional = {
  name: "chat",
  clusterID: "cluster-1",
  image: { image: "registry.example.com/chat:1", authId: "credential-1", command: "serve" },
  volumeMounts: [
    { type: "local" as const, size: 30, mountPath: "/scratch" },
    { type: "network" as const, id: "disk-1", mountPath: "/data" },
  ],
  envs: [{ key: "MODEL", value: "small" }],
};
const createOnly = { products: [{ id: "product-1" }], rootfsSize: 100 };

const voice = { speed: 1.5, vol: 2, pitch: -3, voice_id: "anna", emotion: "calm", text_normalization: true };
const speech = {
  text: "Ahoy.<#0.5#>Cast off!",
  voice_setting: voice,
  audio_setting: { sample_rate: 32_000, bitrate: 128_000, format: "mp3" as const, channel: 1 },
  pronunciation_dict: { tone: [{ word: "quay", sound: "key" }] },
  language_boost: "English" as const,
  voice_modify: { pitch: 1, intensity: 2, timbre: 3, sound_effects: "echo" },
};

/** Body of `createEndpoint` and the others, by operation. */
export const MINIMAL = {
  createEndpoint: { endpoint: { ...endpoint, ...createOnly, volumeMounts: [] } },
  updateEndpoint: { id: "endpoint-1", ...endpoint },
  synthesizeSpeech: { text: "Ahoy", voice_setting: { voice_id: "anna" } },
  submitSpeech: { text: "Ahoy", voice_setting: {} },
  submitImageToVideo: { prompt: "a ship", image_url: "https://example.com/ship.png" },
  submitVideoToVideo: { input: { prompt: "a ship" } },
};

export const MAXIMAL = {
  createEndpoint: { endpoint: { ...endpoint, ...createOnly, ...optional, appName: "chat-1" } },
  updateEndpoint: { id: "endpoint-1", ...endpoint, ...optional },
  synthesizeSpeech: {
    ...speech,
    voice_setting: { ...voice, latex_read: true },
    timbre_weights: [{ voice_id: "anna", weight: 30 }],
    stream: false,
    stream_options: { exclude_aggregated_audio: true },
    output_format: "hex" as const,
    aigc_watermark: true,
  },
  submitSpeech: speech,
  submitImageToVideo: {
    prompt: "a ship",
    image_url: "https://example.com/ship.png",
    negative_prompt: "fog",
    width: 720 as const,
    height: 1280 as const,
    loras: [{ path: "models/sea", scale: 0.5 }],
    seed: -1,
    steps: 30,
    guidance_scale: 5.5,
    flow_shift: 5.5,
    enable_safety_checker: true,
    fast_mode: true,
    watermark: true,
  },
  submitVideoToVideo: {
    input: {
      prompt: "a ship",
      audio_url: "https://example.com/waves.mp3",
      reference_urls: ["https://example.com/ship.mp4"],
      negative_prompt: "fog",
    },
    parameters: {
      seed: 7,
      size: "1280*720" as const,
      audio: true,
      duration: 10 as const,
      shot_type: "multi" as const,
      watermark: true,
      prompt_extend: true,
    },
  },
};

export type BodyOperation = keyof typeof MAXIMAL;

/** Stands for a field that is left out. */
export const ABSENT = Symbol("absent");

/** Returns a copy of a body with another value at a path such as `endpoint.ports.0.port`. */
export function changed(body: object, path: string, value: unknown): object {
  const copy = structuredClone(body);
  const names = path.split(".");
  const last = names.pop() ?? "";
  const target = names.reduce<object>((parent, name) => Reflect.get(parent, name), copy);
  if (value !== ABSENT) Reflect.set(target, last, value);
  else if (Array.isArray(target)) target.splice(Number(last), 1);
  else Reflect.deleteProperty(target, last);
  return copy;
}
