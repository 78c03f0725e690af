import type { Assumptions } from "./assumptions.ts";
import type { Files, StoredFile } from "./files.ts";
import type { Random } from "./random.ts";
import { refuse } from "./refusal.ts";

export type Output = { field: "audios" | "videos"; format: string; contentType: string; head: Buffer; padding: number };

export type StoredTask = {
  id: string;
  type: string;
  submittedAtMs: number;
  startsAtMs: number;
  endsAtMs: number;
  /** Reason of the failure; "" if the task succeeds. */
  failure: string;
  /** Validity of its URLs in seconds. */
  urlSeconds: number;
  /** Called at the first read after the end. */
  make: () => Output;
  charge: () => void;
  file?: StoredFile;
  field?: Output["field"];
  format?: string;
  settled: boolean;
};

export type Tasks = {
  submit(task: {
    type: string;
    text: string;
    durationMs: [number, number];
    urlSeconds: number;
    make: () => Output;
    charge: () => void;
  }): StoredTask;
  /** Returns a task. A finished task is charged and has its file. @throws Refusal RESOURCE_NOT_FOUND */
  get(id: string): StoredTask;
  all(): StoredTask[];
};

export function createTasks(context: {
  config: () => Assumptions;
  random: Random;
  now: () => number;
  files: Files;
}): Tasks {
  const { config, random, now, files } = context;
  const byID = new Map<string, StoredTask>();

  function settle(task: StoredTask): void {
    if (task.settled || now() < task.endsAtMs) return;
    task.settled = true;
    if (task.failure !== "") return;
    const { field, format, contentType, head, padding } = task.make();
    task.field = field;
    task.format = format;
    task.file = files.add({
      name: `${task.id}.${format}`,
      contentType,
      head,
      padding,
      expiresAtMs: task.endsAtMs + task.urlSeconds * 1000,
    });
    task.charge();
  }

  return {
    submit: ({ type, text, durationMs, urlSeconds, make, charge }) => {
      const { timeScale, queueMs, failTasks, failTasksWith } = config();
      const submittedAtMs = now();
      const startsAtMs = submittedAtMs + random.between(...queueMs) * timeScale;
      const endsAtMs = startsAtMs + random.between(...durationMs) * timeScale;
      const asked = text.toLowerCase().includes(failTasksWith.toLowerCase());
      const failure = asked
        ? "the task failed because its text asks for it"
        : random.next() < failTasks
          ? "the task failed at random"
          : "";
      const task = { id: random.hex(32), type, submittedAtMs, startsAtMs, endsAtMs, failure, urlSeconds, make, charge };
      const stored: StoredTask = { ...task, settled: false };
      byID.set(stored.id, stored);
      return stored;
    },
    get: (id) => {
      const task = byID.get(id);
      if (task === undefined) throw refuse.taskNotFound(id);
      settle(task);
      return task;
    },
    all: () => {
      for (const task of byID.values()) settle(task);
      return [...byID.values()];
    },
  };
}

export function taskStatus(task: StoredTask, now: number): string {
  if (now < task.startsAtMs) return "TASK_STATUS_QUEUED";
  if (now < task.endsAtMs) return "TASK_STATUS_PROCESSING";
  return task.failure === "" ? "TASK_STATUS_SUCCEED" : "TASK_STATUS_FAILED";
}

/** Returns a result as the task-result operation shows it. Assumption: `eta` is in seconds. */
export function viewTask(task: StoredTask, now: number, baseURL: string) {
  const status = taskStatus(task, now);
  const done = now >= task.endsAtMs;
  const share = (now - task.startsAtMs) / Math.max(1, task.endsAtMs - task.startsAtMs);
  const ttl = String(Math.max(0, Math.floor(((task.file?.expiresAtMs ?? 0) - now) / 1000)));
  const url = task.file === undefined ? "" : `${baseURL}/__files/${task.file.id}/${task.file.name}`;
  const type = task.format ?? "";
  return {
    extra: {},
    task: {
      task_id: task.id,
      task_type: task.type,
      status,
      reason: done ? task.failure : "",
      eta: done ? 0 : Math.ceil((task.endsAtMs - now) / 1000),
      progress_percent: status === "TASK_STATUS_SUCCEED" ? 100 : Math.min(99, Math.max(0, Math.floor(share * 100))),
    },
    images: [],
    videos: task.field === "videos" ? [{ video_url: url, video_url_ttl: ttl, video_type: type }] : [],
    audios:
      task.field === "audios" ? [{ audio_url: url, audio_url_ttl: ttl, audio_type: type, audio_metadata: null }] : [],
  };
}
