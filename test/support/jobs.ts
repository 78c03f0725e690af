import { type SpeechJob, type SpeechJobStatus, speechJobSpecSchema } from "../../src/api/v1alpha1/speech-job.ts";
import { type VideoJob, type VideoJobStatus, videoJobSpecSchema } from "../../src/api/v1alpha1/video-job.ts";
import { type TaskOutput, type TaskResult, taskStateOf } from "../../src/provider/tasks/task-result.ts";
import type { SubmissionRecord } from "../../src/submission/record.ts";
import { type Change, manifest } from "./manifests.ts";
import { storedMeta } from "./stored-meta.ts";

const metadata = storedMeta({ name: "sea", uid: "bbbbbbbb-0000-0000-0000-000000000001", resourceVersion: "7" });

/** A SpeechJob as the API server stores it, its spec with `change` merged in. */
export function speechJobOf(variant: "turbo" | "hd", change: Change = {}, status?: SpeechJobStatus): SpeechJob {
  return {
    apiVersion: "mooring.dev/v1alpha1",
    kind: "SpeechJob",
    metadata: { ...metadata },
    spec: speechJobSpecSchema.parse(manifest(variant, change).spec),
    ...(status === undefined ? {} : { status }),
  };
}

export function videoJobOf(variant: "image" | "reference", change: Change = {}, status?: VideoJobStatus): VideoJob {
  return {
    apiVersion: "mooring.dev/v1alpha1",
    kind: "VideoJob",
    metadata: { ...metadata },
    spec: videoJobSpecSchema.parse(manifest(variant, change).spec),
    ...(status === undefined ? {} : { status }),
  };
}

/** The record of the first request of a job of these, by the process that `sharedOf` makes. */
export function recordOf(change: Partial<SubmissionRecord> = {}): SubmissionRecord {
  return {
    id: "intent-1",
    uid: metadata.uid,
    operation: "submitImageToVideo",
    attempt: 1,
    specHash: "0123456789abcdef",
    account: { kind: "Account", name: "default", baseURL: "https://api.example.com" },
    keyVersion: "0123456789abcdef",
    sender: "one",
    time: "2026-03-01T00:00:00Z",
    ...change,
  };
}

/** A task as a poll shows it. */
export function taskOf(
  status: string,
  change: Partial<TaskResult["task"]> & { videos?: TaskOutput[]; audios?: TaskOutput[]; images?: TaskOutput[] } = {},
): TaskResult {
  const { videos = [], audios = [], images = [], ...task } = change;
  return {
    task: { taskID: "task-1", taskType: "VIDEO", status, state: taskStateOf(status), reason: "", ...task },
    videos,
    audios,
    images,
  };
}

export const video: TaskOutput = { url: "https://files.example.com/sea.mp4", type: "mp4", ttlSeconds: 3600 };

/** Faults of the simulator by which the task of the video request with this text has succeeded with the file at `url`. `ttl` in seconds. */
export function succeededTask(text: string, url: string, ttl: string) {
  const [task_id, status] = [`task-${text}`, 200];
  const body = {
    task: { status: "TASK_STATUS_SUCCEED" },
    videos: [{ video_url: url, video_url_ttl: ttl, video_type: "mp4" }],
  };
  return [
    { operation: "submitImageToVideo", match: text, kind: "status", status, body: { task_id } },
    { operation: "getTaskResult", match: task_id, kind: "status", status, probability: 1, body },
  ];
}
