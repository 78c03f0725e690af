import { getCondition } from "../../api/v1alpha1/conditions.ts";
import type { JobPhase } from "../../api/v1alpha1/job.ts";
import type { Work } from "../../submission/account-line.ts";
import type { EndedWork, SpendingAdmission } from "../../submission/admission.ts";
import { CHARGE_SHOWS_MS } from "../../submission/reservations.ts";
import { type Observation, SHOW_SENDING_AFTER_MS } from "./observations.ts";
import type { Transition } from "./transitions.ts";
import { type Job, workOf } from "./types.ts";

/**
 * Asks for the slot that a job needs before it sends its paid request (SpendingAdmission). Undefined: admitted.
 * @param wake called when the job has a slot @param now ms since the epoch
 */
export function requestSlot(
  admission: Pick<SpendingAdmission, "request">,
  account: string,
  { work, createdAt, wake }: { work: Work; createdAt: number; wake: () => void },
  now: number,
): Observation<"NotAdmitted"> | undefined {
  const answer = admission.request(account, work, wake);
  if (answer.kind === "Admitted") return undefined;
  const { reason, message } = answer;
  // A new job usually waits for less time than a status write takes.
  const brief = reason === "RateLimited" && !(now - createdAt >= SHOW_SENDING_AFTER_MS);
  return { kind: "NotAdmitted", reason, message, stalled: false, brief };
}

/** Gives back the slot, or the position in the queue, of a job that does not want to send now. A sent request keeps its slot. */
export function withdrawUnlessAsking(
  admission: Pick<SpendingAdmission, "withdraw">,
  uid: string,
  { asksForSlot }: Transition,
): void {
  if (asksForSlot !== true) admission.withdraw(uid);
}

/** Gives back the slot of a job whose request or task has ended. Call it after the status shows the end. */
export function releaseSlot(
  admission: Pick<SpendingAdmission, "release">,
  uid: string,
  { releasesSlot }: Transition,
): void {
  if (releasesSlot === undefined) return;
  admission.release(uid, { charged: releasesSlot !== "Uncharged", unseen: releasesSlot === "Unseen" });
}

/** Phases whose request or task is in flight. */
export const IN_FLIGHT: readonly JobPhase[] = ["Submitting", "Queued", "Running"];

/**
 * The work of a job that has nothing in flight, and whose charge may not show yet. Undefined: it was not charged, or long
 * ago. `now`: ms since the epoch.
 */
export function endedWorkOf(job: Job, now: number): EndedWork | undefined {
  const { phase = "Pending", submission, completionTime } = job.status ?? {};
  if (submission?.state !== "Accepted" && submission?.state !== "Unknown") return undefined;
  if (IN_FLIGHT.includes(phase)) return undefined;
  const end = submission.state === "Unknown" || isPastDeadline(job) ? "Unseen" : "Seen";
  // The status does not show when the task ended whose results are being copied.
  const time = phase === "Storing" ? now : Date.parse(completionTime ?? submission.time);
  if (Number.isNaN(time) || now - time > CHARGE_SHOWS_MS[end]) return undefined;
  return { work: workOf(job), end, agoMs: Math.max(0, now - time) };
}

/** Whether the job has failed by its deadline: its task may still run. */
export function isPastDeadline({ status }: Job): boolean {
  return getCondition(status?.conditions, "Failed")?.reason === "DeadlineExceeded";
}
