import { isRecord } from "../../base/own-value.ts";
import { plainText, type Sanitizer } from "../../base/sanitizer.ts";
import { OPERATION_NAMES, type Operation, taskOf } from "../operations.ts";
import { count, OUTPUTS_READ, OUTPUTS_SHOWN, RESULT_URL, TASK_ID, TEXT } from "../wire/bounds.ts";
import { type Fields, fieldsOf, firstValues, requiredText, toFields, toNumber, toText } from "../wire/lenient.ts";

/** Ten years. A URL that works longer is as good as one that works forever. */
const LONGEST_LIFE = 10 * 365 * 86_400;

/** One output of a task. */
export type TaskOutput = {
  url: string;
  /** Letters and digits, such as `mp4` or `mp3`; "" where the service shows no file type. */
  type: string;
  /** How long the URL works from now; undefined where the service shows nothing, 0 or no number. */
  ttlSeconds?: number;
};

/** State of a task. `Other`: the service reports a status that this version does not know. */
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
  /** Outputs that are left out: more than a status lists, or with a URL that is too long or quotes a secret. Default 0. */
  omitted?: number;
};

/** The interface document shows the status of a successful task only; the others are observed. */
const STATES: Readonly<Record<string, TaskState>> = {
  TASK_STATUS_QUEUED: "Queued",
  TASK_STATUS_PROCESSING: "Running",
  TASK_STATUS_SUCCEED: "Succeeded",
  TASK_STATUS_FAILED: "Failed",
};

/** Words that say without a doubt that the task ended without a result. No other word than the documented one means success. */
const ENDED = /^(TASK_STATUS_)?(FAIL|FAILED|FAILURE|CANCELL?ED|TIME_?OUT|TIMED_?OUT|ABORTED|REJECTED)$/i;

export function taskStateOf(status: string): TaskState {
  const known = Object.hasOwn(STATES, status) ? STATES[status] : undefined;
  return known ?? (ENDED.test(status) ? "Failed" : "Other");
}

/** A poll that shows neither how the task ended nor that it runs. */
export type Useless =
  /** The task has succeeded, and shows no result with a URL. The URLs can follow, or show again. */
  { kind: "NoResults"; omitted: number } | { kind: "UnknownStatus"; status: string };

export function uselessness(result: TaskResult): Useless | undefined {
  const { state, status } = result.task;
  if (state === "Other") return { kind: "UnknownStatus", status };
  if (state !== "Succeeded" || resultsOf(result).length > 0) return undefined;
  return { kind: "NoResults", omitted: result.omitted ?? 0 };
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

/** @throws UnusableError */
export function taskResultFrom(value: unknown, sanitize: Sanitizer = plainText): TaskResult {
  const wire = fieldsOf(value);
  const task = toFields(wire["task"]);
  const status = requiredText(task, "status");
  const shown = (field: string, most: number) => sanitize(toText(task[field]), most);
  const [eta, progressPercent] = [count(toNumber(task["eta"])), toNumber(task["progress_percent"])];
  return {
    task: {
      taskID: shown("task_id", TASK_ID),
      taskType: shown("task_type", TEXT.state),
      status: shown("status", TEXT.state),
      state: taskStateOf(status),
      reason: shown("reason", TEXT.message),
      ...(eta === undefined ? {} : { eta }),
      ...(progressPercent === undefined ? {} : { progressPercent }),
    },
    ...outputsFrom(wire, sanitize),
  };
}

/** File types are part of keys and file names. */
function fileTypeOf(text: string): string {
  const type = text.trim().replace(/^\./, "");
  return /^[a-z0-9]{1,16}$/i.test(type) ? type : "";
}

/** The shape of an image is not shown: a bare URL, or an object in the manner of the other two. */
const imageFields = (image: unknown): unknown => (isRecord(image) ? image : { image_url: image });

function outputsFrom(wire: Fields, sanitize: Sanitizer): Pick<TaskResult, "images" | "videos" | "audios" | "omitted"> {
  let room = OUTPUTS_SHOWN;
  let omitted = 0;
  const shown = (kind: string, output: Fields): TaskOutput[] => {
    const text = toText(output[`${kind}_url`]);
    const type = fileTypeOf(toText(output[`${kind}_type`]));
    if (text === "") return [{ url: "", type }];
    const url = resultURL(text, sanitize);
    if (room > 0 && url.kind === "Usable") {
      room--;
      const ttlSeconds = toNumber(output[`${kind}_url_ttl`]) ?? 0;
      return [{ url: url.url, type, ...(ttlSeconds > 0 ? { ttlSeconds: Math.min(ttlSeconds, LONGEST_LIFE) } : {}) }];
    }
    omitted++;
    return [];
  };
  const outputs = (kind: string, list: readonly unknown[]) => list.filter(isRecord).flatMap((one) => shown(kind, one));
  const first = (list: string) => firstValues(wire[list], OUTPUTS_READ);
  const audios = outputs("audio", first("audios"));
  const videos = outputs("video", first("videos"));
  const images = outputs("image", first("images").map(imageFields));
  return { images, videos, audios, ...(omitted === 0 ? {} : { omitted }) };
}

/** The URL of a result, as a status can store it. */
export type ResultURL = { kind: "Usable"; url: string } | { kind: "Unusable"; why: string };

/** Any other character is escaped, as each client does before it sends the URL. */
const PRINTABLE = /^[\x21-\x7e]*$/;

export function resultURL(text: string, sanitize: Sanitizer): ResultURL {
  if (text.length > RESULT_URL) {
    return { kind: "Unusable", why: `has ${text.length} characters, more than the ${RESULT_URL} that can be stored` };
  }
  const url = PRINTABLE.test(text) ? text : (URL.parse(text)?.href ?? "");
  if (url === "") return { kind: "Unusable", why: "is no URL" };
  if (url.length > RESULT_URL) return { kind: "Unusable", why: `is longer than ${RESULT_URL} characters` };
  return sanitize.quotesSecret(url) ? { kind: "Unusable", why: "quotes the API key" } : { kind: "Usable", url };
}

/**
 * Why a task is not one of an operation, as the service shows the task; undefined: it can be. A type that the interface
 * document does not show can be a task of any operation.
 */
export function foreignTask(result: TaskResult, operation: Operation): string | undefined {
  const { taskType } = result.task;
  const known = OPERATION_NAMES.find((one) => taskOf(one)?.type === taskType);
  if (known !== undefined && known !== operation) return `its type is ${taskType}, which is of ${known}`;
  const wanted = taskOf(operation)?.result;
  const kinds = resultsOf(result).map(({ kind }) => kind);
  const [other] = kinds;
  return other === undefined || kinds.some((kind) => kind === wanted) ? undefined : `it has a result of kind ${other}`;
}

/** Why a result is not that of the task that was asked for; undefined: it is, or does not say. */
export function otherTask({ task }: TaskResult, taskID: string): string | undefined {
  return task.taskID === "" || task.taskID === taskID ? undefined : `the service shows task ${task.taskID} instead`;
}
