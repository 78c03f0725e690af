import type { Factor } from "../factor.ts";

const NOT_SHOWN_STATUSES =
  "Async task statuses other than the one above: not shown. Async task transitions: not shown.";

export const TASK_FACTORS: readonly Factor[] = [
  {
    name: "taskStatuses",
    interface: NOT_SHOWN_STATUSES,
    values: [
      { name: "TASK_STATUS_QUEUED, TASK_STATUS_PROCESSING" },
      { name: "WAITING, WORKING", simulator: { taskStatuses: { queued: "WAITING", processing: "WORKING" } } },
    ],
  },
  {
    name: "failTasks",
    interface: NOT_SHOWN_STATUSES,
    values: [{ name: "none" }, { name: "one in three", simulator: { failTasks: 0.3 } }],
  },
  {
    name: "etaUnit",
    interface: "task | eta: integer",
    values: [
      { name: "seconds" },
      { name: "milliseconds", simulator: { etaUnit: "Milliseconds" } },
      { name: "always 0", simulator: { etaUnit: "None" } },
    ],
  },
  {
    name: "progress",
    interface: "progress_percent is 100 in the video example",
    values: [
      { name: "the share of time" },
      { name: "0 until the end", simulator: { progress: "Zero" } },
      { name: "always 100", simulator: { progress: "Hundred" } },
    ],
  },
  {
    name: "extraContents",
    interface: "Contents of extra and audio_metadata: not shown.",
    values: [
      { name: "empty" },
      { name: "null", simulator: { extraContents: "Null" } },
      { name: "objects", simulator: { extraContents: "Filled" } },
    ],
  },
  {
    name: "ttlUnit",
    interface: "video_url_ttl is returned as a string, unit not given in the interface",
    values: [
      { name: "seconds" },
      { name: "milliseconds", simulator: { ttlUnit: "Milliseconds" } },
      { name: "a date", simulator: { ttlUnit: "Date" } },
      { name: "empty", simulator: { ttlUnit: "None" } },
    ],
  },
  {
    name: "validity of URLs",
    interface: "audio URLs are in audios[].audio_url and are valid for 24 hours from being returned.",
    values: [
      { name: "24 hours" },
      { name: "20 s, then 410", simulator: { videoUrlSeconds: 20, speechUrlSeconds: 20, expiredUrlStatus: 410 } },
    ],
  },
  {
    name: "queueMs",
    interface: "Queueing may take long.",
    values: [{ name: "short" }, { name: "up to 4 s", simulator: { queueMs: [5_000, 20_000] } }],
  },
  {
    name: "taskTypes",
    interface: "task_type takes values such as VIDEO_IMG_TO_VIDEO and VENDOR_SPEECH_2.6_HD",
    values: [
      { name: "as shown" },
      { name: "others", simulator: { taskTypes: { speech: "S", imageToVideo: "I", videoToVideo: "V" } } },
    ],
  },
  {
    name: "videoToVideoRequires",
    interface: "Required flags, defaults, bounds and meanings of these fields: not shown.",
    values: [
      { name: "prompt" },
      { name: "prompt and reference_urls", simulator: { videoToVideoRequires: ["prompt", "reference_urls"] } },
    ],
  },
  {
    name: "speechMaxCharacters",
    interface:
      "at most 50000 characters in the field rule; the description states up to one million characters per generation",
    values: [{ name: "50,000" }, { name: "1,000,000", simulator: { speechMaxCharacters: 1_000_000 } }],
  },
  {
    name: "speechLatencyMs",
    interface: "Synthesizes speech from text: how long a request takes is not mentioned.",
    values: [{ name: "20 ms" }, { name: "2 s", simulator: { speechLatencyMs: 10_000, streamChunkMs: 400 } }],
  },
  {
    name: "streamEnd",
    interface:
      "stream_options | object | no | {exclude_aggregated_audio: boolean}; the last chunk carries only the status",
    values: [{ name: "the status" }, { name: "the whole audio", simulator: { streamEnd: "WholeAudio" } }],
  },
  {
    name: "streamSeparator",
    interface: "a sequence of lines of the form data: <JSON>",
    values: [
      { name: "a blank line" },
      { name: "a newline", simulator: { streamSeparator: "Newline" } },
      { name: "CRLF", simulator: { streamSeparator: "CRLF" } },
    ],
  },
];
