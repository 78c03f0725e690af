import { JOB_RESOURCES } from "../../../src/api/v1alpha1/kinds.ts";
import { resourcePath } from "../../../src/kube/resource.ts";
import type { Service } from "../../../src/simulator/service.ts";
import { type StoredTask, taskStatus } from "../../../src/simulator/tasks.ts";
import { isJson, type Json, objectAt, textAt } from "../api-server/json.ts";
import { condition } from "./stability.ts";

/** The conditions of a phase: what each must be. Undefined: it is absent. */
const CONDITIONS: { [phase: string]: { [type: string]: string | undefined } } = {
  Submitting: { Ready: "False", Reconciling: "True", Complete: undefined, Failed: undefined },
  Halted: { Ready: "False", Stalled: "True", Complete: undefined, Failed: undefined },
  Storing: { Ready: "False", ResultsAvailable: "True", Complete: undefined, Failed: undefined },
  Succeeded: { Ready: "True", Complete: "True", Failed: undefined, Stalled: undefined, Reconciling: undefined },
  Failed: { Ready: "False", Failed: "True", Stalled: "True", Complete: undefined, Reconciling: undefined },
};
const ENDED = ["Succeeded", "Failed"];
/** Set once: when the job was first seen, first accepted, and ended. */
const FIXED = ["startTime", "firstSubmitTime", "completionTime"];
/** In this order. A status has seconds, and clocks differ. */
const TIMES = ["startTime", "firstSubmitTime", "submitTime", "completionTime"];
const SKEW_MS = 3_000;
/** Of a URL: the service gives whole seconds of a lifetime, and the response takes a while. */
const EXPIRY_MS = 60_000;
const LONGEST_TIMELINE = 32;

const statusOf = (job: Json, type: string) => textAt(condition(job, type), "status");

/** `takesRefusal`: whether a fault has refused a status of this job. Each accounts for one remnant. */
export type StatusWorld = { service: Service; now: number; takesRefusal: (job: Json) => boolean };

export function jobContradictions(job: Json, before: Json | undefined, world: StatusWorld): string[] {
  const status = objectAt(job, "status");
  const phase = textAt(status, "phase") ?? "";
  if (isRemnant(status, objectAt(before, "status")) && world.takesRefusal(job)) return [];
  const wrong = Object.entries(CONDITIONS[phase] ?? {}).filter(([type, wanted]) => statusOf(job, type) !== wanted);
  const tasks = new Map(world.service.tasks.all().map((task) => [task.id, task]));
  return [
    ...wrong.map(([type, wanted]) => `${phase} comes with ${type}=${statusOf(job, type)}, not ${wanted}`),
    ...timeProblems(status, objectAt(before, "status")),
    ...timelineProblems(status, objectAt(before, "status")),
    ...taskProblems(job, tasks, world),
    ...resultProblems(job, tasks, world.service),
  ];
}

/** The API server refused the whole status: what identifies the accepted request is stored alone, and the next reconcile adds the rest. */
function isRemnant(status: Json, before: Json): boolean {
  const [state, stateBefore] = [status, before].map((one) => textAt(one["submission"], "state"));
  const isSame = JSON.stringify(status["conditions"]) === JSON.stringify(before["conditions"]);
  return status["phase"] === "Halted" && state === "Accepted" && stateBefore === "Intended" && isSame;
}

/** Where the status of a job is written. */
export function statusPathOf({ kind, metadata }: Json): string {
  const resource = JOB_RESOURCES.find((one) => one.kind === kind);
  const [namespace, name] = ["namespace", "name"].map((field) => textAt(metadata, field));
  return resource === undefined ? "" : resourcePath(resource, { namespace, name, subresource: "status" });
}

function timeProblems(status: Json, before: Json): string[] {
  const found = FIXED.filter((field) => before[field] !== undefined && before[field] !== status[field]).map(
    (field) => `${field} was ${before[field]}, and is ${status[field]}`,
  );
  const times = TIMES.flatMap((field) => textAt(status, field) ?? []).map((time) => Date.parse(time));
  if (times.some((time, i) => time + SKEW_MS < (times[i - 1] ?? 0))) found.push(`${TIMES} are out of order: ${times}`);
  const isOver = ENDED.includes(textAt(status, "phase") ?? "");
  const [start, end] = ["startTime", "completionTime"].map((field) => textAt(status, field));
  if (isOver !== (end !== undefined)) found.push(`completionTime of ${textAt(status, "phase")} is ${end}`);
  if (
    isOver &&
    secondsOf(textAt(status, "duration") ?? "") * 1_000 !== Date.parse(end ?? "") - Date.parse(start ?? "")
  ) {
    found.push(`duration ${textAt(status, "duration")} is not from ${start} to ${end}`);
  }
  return found;
}

/** A Go duration of whole seconds. */
function secondsOf(duration: string): number {
  const [, hours = 0, minutes = 0, seconds = 0] = /^(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/.exec(duration) ?? [];
  return Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds);
}

const entriesOf = (status: Json): Json[] => {
  const { timeline } = status;
  return Array.isArray(timeline) ? timeline.filter(isJson) : [];
};

function timelineProblems(status: Json, before: Json): string[] {
  const found: string[] = [];
  const entries = entriesOf(status);
  const was = entriesOf(before);
  const last = entries.at(-1);
  const isPrefix = was.every((entry, i) => JSON.stringify(entry) === JSON.stringify(entries[i]));
  if (entries.length < LONGEST_TIMELINE && !isPrefix) found.push("the timeline has other entries than before");
  if (entries.length > was.length + 1 && was.length > 0) found.push("the timeline has several new entries");
  const shown = textAt(status, "phase");
  const phases = shown === "Pending" ? ["Pending", "Submitting"] : [shown];
  if (!phases.includes(textAt(last, "phase")))
    found.push(`the timeline ends with ${textAt(last, "phase")}, not ${shown}`);
  for (const [i, entry] of entries.entries()) {
    const previous = entries[i - 1];
    if (previous === undefined) continue;
    if (String(entry["time"]) < String(previous["time"])) found.push(`the timeline goes back to ${entry["time"]}`);
    const step = Number(entry["attempt"]) - Number(previous["attempt"]);
    if (step < 0 || step > 1)
      found.push(`the timeline goes from attempt ${previous["attempt"]} to ${entry["attempt"]}`);
    if (step === 0 && entry["phase"] === previous["phase"]) found.push(`the timeline has ${entry["phase"]} twice`);
  }
  return found;
}

/** What the job says of its tasks is what the service has. */
function taskProblems(job: Json, tasks: Map<string, StoredTask>, { service, now }: StatusWorld): string[] {
  const status = objectAt(job, "status");
  const phase = textAt(status, "phase") ?? "";
  const taskID = textAt(status, "taskID");
  if (taskID === undefined) return [];
  const task = tasks.get(taskID);
  if (task === undefined) return statusOf(job, "TaskAttached") === "True" ? [] : [`the service has no task ${taskID}`];
  const found: string[] = [];
  const states = [task.submittedAtMs, task.startsAtMs, task.endsAtMs]
    .filter((at) => at <= now)
    .map((at) => taskStatus(task, at, service.config()));
  const remote = textAt(status, "remoteStatus");
  if (remote !== undefined && !states.includes(remote)) found.push(`remoteStatus is ${remote}; the task was ${states}`);
  const type = textAt(status, "taskType");
  if (type !== undefined && type !== task.type) found.push(`taskType is ${type}, and the task's is ${task.type}`);
  const failed = task.failure !== "" && task.endsAtMs <= now;
  if (phase === "Succeeded" && (failed || task.endsAtMs > now)) found.push(`Succeeded, but the task has not`);
  if (phase === "Succeeded" && Number(status["progressPercent"] ?? 100) !== 100) {
    found.push(`Succeeded at ${status["progressPercent"]} %`);
  }
  const own = entriesOf(status).flatMap((entry) => textAt(entry, "taskID") ?? []);
  const failures = own.filter((id) => (tasks.get(id)?.failure ?? "") !== "").length;
  // A user can attach a task that failed before: it counts again, and the timeline does not name it again.
  const again = statusOf(job, "TaskAttached") === "True" && task.failure !== "" ? 1 : 0;
  const shown = Number(status["failedTasks"] ?? 0);
  if (shown > failures + again) found.push(`failedTasks is ${shown} of ${failures}`);
  if (textAt(condition(job, "Failed"), "reason") === "BackoffLimitExceeded" && shown < failures) {
    found.push(`${failures} tasks failed, and failedTasks is ${status["failedTasks"]}`);
  }
  return found;
}

function resultProblems(job: Json, tasks: Map<string, StoredTask>, service: Service): string[] {
  const status = objectAt(job, "status");
  const { results: shown } = status;
  const results = Array.isArray(shown) ? shown.filter(isJson) : [];
  const phase = textAt(status, "phase") ?? "";
  if (phase === "Succeeded" && results.length === 0) return ["Succeeded without a result"];
  const found: string[] = [];
  const expiries = results.flatMap((result) => textAt(result, "expiresAt") ?? []).sort();
  if (textAt(status, "resultsExpireAt") !== expiries[0]) {
    found.push(`resultsExpireAt is ${textAt(status, "resultsExpireAt")}, and the first URL expires at ${expiries[0]}`);
  }
  const isStored = objectAt(objectAt(job, "spec"), "output")["storeRef"] !== undefined;
  for (const result of results) {
    const url = textAt(result, "url");
    const file = url === undefined ? undefined : service.files.find(/__files\/([^/]+)\//.exec(url)?.[1] ?? "");
    if (url !== undefined && file === undefined) found.push(`the service has no file ${url}`);
    const own = tasks.get(textAt(status, "taskID") ?? "")?.file;
    if (own !== undefined && file !== undefined && own.id !== file.id) found.push(`${url} is of another task`);
    const expiresAt = Date.parse(textAt(result, "expiresAt") ?? "");
    if (file !== undefined && !(Math.abs(expiresAt - file.expiresAtMs) <= EXPIRY_MS)) {
      found.push(`${url} expires at ${new Date(file.expiresAtMs).toISOString()}, not ${textAt(result, "expiresAt")}`);
    }
    const kind = file?.contentType.split("/")[0];
    if (kind !== undefined && kind !== textAt(result, "kind")?.toLowerCase())
      found.push(`${url} is no ${result["kind"]}`);
    if (phase === "Succeeded" && isStored && textAt(objectAt(result, "artifact"), "uri") === undefined) {
      found.push("Succeeded without a copy in the store");
    }
  }
  return found;
}
