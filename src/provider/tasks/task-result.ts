import { toNumber } from "../wire/lenient.ts";
import type { TaskResultWire } from "../wire/tasks.ts";

/** One output of a task. */
export type TaskOutput = {
  url: string;
  /** e.g. `mp4`, `mp3`; "" where the service does not show it. */
  type: string;
  /** How long the URL works from now; undefined where the service shows nothing, 0 or no number. */
  ttlSeconds?: number;
};

/** What a task does now. `Other`: the service reports a status that this version does not know. */
export type TaskState = "Queued" | "Running" | "Succeeded" | "Failed" | "Other";

/** The result of an asynchronous task. */
export type TaskResult = {
  task: {
    taskID: string;
    /** The service's own word. */
    taskType: string;
    /** The service's own word. Decide by `state`; show this one. */
    status: string;
    state: TaskState;
    reason: string;
    /** Unit not shown in the interface. */
    eta?: number;
    progressPercent?: number;
  };
  images: TaskOutput[];
  videos: TaskOutput[];
  audios: TaskOutput[];
};

/** The interface document shows the status of a successful task only; the others are observed. */
const STATES: Readonly<Record<string, TaskState>> = {
  TASK_STATUS_QUEUED: "Queued",
  TASK_STATUS_PROCESSING: "Running",
  TASK_STATUS_SUCCEED: "Succeeded",
  TASK_STATUS_FAILED: "Failed",
};

export function taskStateOf(status: string): TaskState {
  return Object.hasOwn(STATES, status) ? (STATES[status] ?? "Other") : "Other";
}

export type ResultKind = "Audio" | "Video" | "Image";

/** All outputs that have a URL, in the service's order: audios, videos, images. */
export function resultsOf(result: TaskResult): ({ kind: ResultKind } & TaskOutput)[] {
  const tagged = (kind: ResultKind, outputs: TaskOutput[]) => outputs.map((output) => ({ kind, ...output }));
  return [
    ...tagged("Audio", result.audios),
    ...tagged("Video", result.videos),
    ...tagged("Image", result.images),
  ].filter((output) => output.url !== "");
}

export function taskResultFrom(wire: TaskResultWire): TaskResult {
  const { task_id, task_type, status, reason, eta, progress_percent } = wire.task;
  return {
    task: {
      taskID: task_id,
      taskType: task_type,
      status,
      state: taskStateOf(status),
      reason,
      ...(eta === undefined ? {} : { eta }),
      ...(progress_percent === undefined ? {} : { progressPercent: progress_percent }),
    },
    images: wire.images.map((image) => output(image.image_url, image.image_type, image.image_url_ttl)),
    videos: wire.videos.map((video) => output(video.video_url, video.video_type, video.video_url_ttl)),
    audios: wire.audios.map((audio) => output(audio.audio_url, audio.audio_type, audio.audio_url_ttl)),
  };
}

function output(url: string, type: string, ttl: string): TaskOutput {
  const ttlSeconds = toNumber(ttl);
  return { url, type, ...(ttlSeconds !== undefined && ttlSeconds > 0 ? { ttlSeconds } : {}) };
}
