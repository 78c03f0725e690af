import { getCondition } from "../../api/v1alpha1/conditions.ts";
import type { JobResult } from "../../api/v1alpha1/job.ts";
import type { Reason } from "../../api/v1alpha1/reasons.ts";
import { type AddressGuard, isLinkable } from "../../base/address-guard.ts";
import { rfc3339 } from "../../base/clock.ts";
import { isSameService } from "../../base/service-address.ts";
import type { ServiceError } from "../../provider/errors.ts";
import { type ResultKind, resultsOf, type TaskOutput, type TaskResult } from "../../provider/tasks/task-result.ts";
import { type EndedTask, UNSEEN_MS } from "../../submission/reservations.ts";
import { accountOfResources } from "../account/binding.ts";
import { accountMismatch } from "../account/mismatch.ts";
import type { AccountHandle, Resolved } from "../account/registry.ts";
import type { ControllerDeps } from "../controller-deps.ts";
import { heldVerdict } from "../verdict.ts";
import { isInFlight } from "./in-flight.ts";
import { type Block, type Job, type JobStatus, paidOperation, type TaskFollower, workOf } from "./types.ts";

export function createTaskFollower(shared: Pick<ControllerDeps, "accounts" | "admission" | "clock">): TaskFollower {
  /** By UID of the job. */
  const followed = new Map<string, { account: AccountHandle; taskID: string; polledFor?: number }>();

  function forget({ metadata: { uid } }: Job): void {
    const task = followed.get(uid);
    task?.account.tasks.forget(task.taskID);
    followed.delete(uid);
  }

  return {
    forget,
    async follow(job, taskID) {
      const { uid } = job.metadata;
      const { account: bound, submitTime } = job.status ?? {};
      const resolved = await accountOfTask(shared, job);
      if (resolved.kind !== "Usable") return;
      const { account } = resolved;
      if (bound !== undefined && !isSameService(bound.baseURL, account.baseURL)) return forget(job);
      if (!hasReleasedSlot(job.status)) shared.admission.running(account.key, workOf(job));
      const task = followed.get(uid);
      if (task?.account === account && task.taskID === taskID) return;
      forget(job);
      followed.set(uid, { account, taskID });
      const submittedAt = submitTime === undefined ? shared.clock.now() : Date.parse(submitTime);
      account.tasks.follow(taskID, submittedAt, job.metadata.namespace);
    },
    pollNow({ metadata: { uid } }) {
      const task = followed.get(uid);
      task?.account.tasks.pollNow(task.taskID);
    },
    pollAfter({ metadata: { uid } }, time) {
      const task = followed.get(uid);
      if (task === undefined || task.polledFor === time) return;
      task.polledFor = time;
      task.account.tasks.pollNow(task.taskID);
    },
  };
}

/** The account that the task was submitted with, even if `spec.accountRef` means another one now: another account does not know the task. */
export async function accountOfTask({ accounts }: Pick<ControllerDeps, "accounts">, job: Job): Promise<Resolved> {
  return accounts.resolve(accountOfResources(job), job.metadata.namespace);
}

/** The job waits for its account. */
export function heldAccount(held: Extract<Resolved, { kind: "Held" }>): Block {
  const { kind, ...block } = heldVerdict(held);
  return { ...block, stalled: kind === "Stalled" };
}

/** After its first submission a job uses the account of that submission only (api: accountRef). */
export function mismatchOf({ status }: Job, account: AccountHandle): Block | undefined {
  const bound = (status?.attempts ?? 0) === 0 ? undefined : status?.account?.baseURL;
  const mismatch = accountMismatch(bound, account);
  return mismatch && { ...mismatch, stalled: true };
}

/** Whether the service does not know the task, or does not know it any more. */
export function isUnknownTask({ kind }: ServiceError): boolean {
  return kind === "NotFound" || kind === "InvalidRequest";
}

// The slot of a task

/** Which ended tasks reserve their cost: `settleMs` after the end at most. `now`, `asOf`: ms since the epoch. */
export type EndedSince = { now: number; settleMs: number; asOf: number };

/**
 * The task of a job that has nothing in flight, when it ended at `asOf` or later. Undefined: it was not charged, or its
 * charge is not expected any more.
 */
export function endedTaskOf(job: Job, { now, settleMs, asOf }: EndedSince): EndedTask | undefined {
  const { phase = "Pending", submission, completionTime } = job.status ?? {};
  if (submission?.state !== "Accepted" && submission?.state !== "Unknown") return undefined;
  if (isInFlight(job.status)) return undefined;
  const unseen = submission.state === "Unknown" || phase === "Halted" || isPastDeadline(job);
  const end = unseen ? "Unseen" : "Seen";
  // The status does not show when the task ended whose results are being copied.
  const time = phase === "Storing" ? now : Date.parse(completionTime ?? submission.time);
  if (Number.isNaN(time) || time < asOf || now - time > settleMs + UNSEEN_MS[end]) return undefined;
  return { operation: paidOperation(job), end, agoMs: Math.max(0, now - time), lenient: true };
}

/** Whether the job has failed by its deadline: its task may still run. */
export function isPastDeadline({ status }: Job): boolean {
  return getCondition(status?.conditions, "Failed")?.reason === "DeadlineExceeded";
}

/** The reasons of a job whose polls fail, or show nothing useful. */
const FAILING: readonly (Reason | string)[] = [
  "TaskNotFound",
  "PollsFailing",
  "NoResult",
  "RemoteStatusUnknown",
] satisfies Reason[];

/** Whether the job has given its slot back for one of these reasons. */
export function hasReleasedSlot(status: JobStatus | undefined): boolean {
  const stalled = getCondition(status?.conditions, "Stalled");
  return status?.pollsFailingSince !== undefined && FAILING.includes(stalled?.reason ?? "");
}

/** Whether a user learns from the status that polls fail, and in which stage. */
export function failingStage(status: JobStatus | undefined): string | undefined {
  const ready = getCondition(status?.conditions, "Ready");
  if (ready === undefined || !FAILING.includes(ready.reason ?? "")) return undefined;
  return `${ready.reason} ${getCondition(status?.conditions, "Stalled") === undefined ? "" : "Stalled"}`;
}

// What polls show

/** Lifetime of a URL when the service gives none (interface: "Speech URL validity: 24 hours"). */
const DEFAULT_TTL_SECONDS = 24 * 3600;

/** `at`: when the service returned the URLs, ms since the epoch. */
export function jobResults(
  outputs: ({ kind: ResultKind } & TaskOutput)[],
  at: number,
  guard?: AddressGuard,
): JobResult[] {
  return outputs.map(({ kind, url, type, ttlSeconds }) => {
    const expiresAt = rfc3339(at + (ttlSeconds ?? DEFAULT_TTL_SECONDS) * 1000);
    return judged({ kind, url, ...(type === "" ? {} : { type }), expiresAt }, guard);
  });
}

/** A result with a forbidden address has `address` and no URL. */
export function judged({ url, ...result }: JobResult, guard: AddressGuard | undefined): JobResult {
  if (url === undefined) return result;
  return isLinkable(url, guard) ? { ...result, url } : { ...result, address: url };
}

/** All results of a task that have a URL. */
export function resultsFrom(result: TaskResult, at: number, guard?: AddressGuard): JobResult[] {
  return jobResults(resultsOf(result), at, guard);
}
