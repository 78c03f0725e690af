import type { Assumptions } from "./assumptions.ts";
import type { Files, StoredFile } from "./files.ts";
import type { Random } from "./random.ts";
import { refuse } from "./refusal.ts";

export type MediaOutput = {
  field: "audios" | "videos";
  format: string;
  contentType: string;
  head: Buffer;
  padding: number;
};

export type StoredTask = {
  id: string;
  type: string;
  memberID: string;
  submittedAtMs: number;
  startsAtMs: number;
  endsAtMs: number;
  /** Reason of the failure; "" if the task succeeds. */
  failure: string;
  /** Validity of its URLs in seconds. */
  urlSeconds: number;
  /** Called at the first read after the end. */
  make: () => MediaOutput;
  charge: () => void;
  file?: StoredFile;
  field?: MediaOutput["field"];
  format?: string;
  settled: boolean;
};

export type SimulatedTasks = {
  submit(task: {
    type: string;
    memberID: string;
    text: string;
    durationMs: [number, number];
    urlSeconds: number;
    make: () => MediaOutput;
    charge: () => void;
  }): StoredTask;
  /**
   * Returns a task. A finished task is charged and has its file.
   * @param members whose tasks the key sees; undefined: all
   * @throws Refusal RESOURCE_NOT_FOUND
   */
  get(id: string, members?: string[]): StoredTask;
  all(): StoredTask[];
};

export function createTasks(context: {
  config: () => Assumptions;
  random: Random;
  now: () => number;
  files: Files;
}): SimulatedTasks {
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
    if (config().chargeTasks === "AtEnd") task.charge();
  }

  return {
    submit: ({ text, durationMs, ...given }) => {
      const { timeScale, queueMs, failTasks, failTasksWith, chargeTasks } = config();
      const submittedAtMs = now();
      const startsAtMs = submittedAtMs + random.between(...queueMs) * timeScale;
      const endsAtMs = startsAtMs + random.between(...durationMs) * timeScale;
      const asked = text.toLowerCase().includes(failTasksWith.toLowerCase());
      const failure = asked
        ? "the task failed because its text asks for it"
        : random.next() < failTasks
          ? "the task failed at random"
          : "";
      const id = random.hex(32);
      const stored: StoredTask = { ...given, id, submittedAtMs, startsAtMs, endsAtMs, failure, settled: false };
      byID.set(id, stored);
      if (chargeTasks === "AtSubmission") stored.charge();
      return stored;
    },
    get: (id, members) => {
      const task = byID.get(id);
      if (task === undefined || members?.includes(task.memberID) === false) throw refuse.taskNotFound(id);
      settle(task);
      return task;
    },
    all: () => {
      for (const task of byID.values()) settle(task);
      return [...byID.values()];
    },
  };
}

export function taskStatus(task: StoredTask, now: number, { taskStatuses }: Pick<Assumptions, "taskStatuses">): string {
  if (now < task.startsAtMs) return taskStatuses.queued;
  if (now < task.endsAtMs) return taskStatuses.processing;
  return task.failure === "" ? "TASK_STATUS_SUCCEED" : taskStatuses.failed;
}

type TaskView = { now: number; baseURL: string; config: Assumptions };

/** Returns a result as the task-result operation shows it. */
export function viewTask(task: StoredTask, { now, baseURL, config }: TaskView) {
  const done = now >= task.endsAtMs;
  const ttl = ttlText(task.file?.expiresAtMs ?? now, now, config);
  const url = task.file === undefined ? "" : `${baseURL}/__files/${task.file.id}/${task.file.name}`;
  const type = task.format ?? "";
  const extra = config.extraContents === "Filled" ? { seed: 7, notes: ["an", { object: true }] } : undefined;
  return {
    extra: config.extraContents === "Null" ? null : (extra ?? {}),
    task: {
      task_id: task.id,
      task_type: task.type,
      status: taskStatus(task, now, config),
      reason: done ? task.failure : "",
      eta: etaOf(task, now, config),
      progress_percent: progressOf(task, now, config),
    },
    images: [],
    videos: task.field === "videos" ? [{ video_url: url, video_url_ttl: ttl, video_type: type }] : [],
    audios:
      task.field === "audios"
        ? [{ audio_url: url, audio_url_ttl: ttl, audio_type: type, audio_metadata: extra ?? null }]
        : [],
  };
}

function etaOf({ endsAtMs }: StoredTask, now: number, { etaUnit }: Assumptions): number {
  if (now >= endsAtMs || etaUnit === "None") return 0;
  return Math.ceil((endsAtMs - now) / (etaUnit === "Seconds" ? 1000 : 1));
}

function progressOf({ startsAtMs, endsAtMs, failure }: StoredTask, now: number, { progress }: Assumptions): number {
  if (progress === "Hundred" || (now >= endsAtMs && failure === "")) return 100;
  if (progress === "Zero") return 0;
  const share = (now - startsAtMs) / Math.max(1, endsAtMs - startsAtMs);
  return Math.min(99, Math.max(0, Math.floor(share * 100)));
}

function ttlText(expiresAtMs: number, now: number, { ttlUnit }: Assumptions): string {
  const left = Math.max(0, expiresAtMs - now);
  switch (ttlUnit) {
    case "Seconds":
      return String(Math.floor(left / 1000));
    case "Milliseconds":
      return String(left);
    case "Date":
      return new Date(expiresAtMs).toISOString();
    case "None":
      return "";
  }
}
