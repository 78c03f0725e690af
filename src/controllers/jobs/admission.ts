import type { Work } from "../../submission/account-line.ts";
import type { SpendingAdmission } from "../../submission/admission.ts";
import { type Observation, SHOW_SENDING_AFTER_MS } from "./observations.ts";
import type { Transition } from "./transitions.ts";

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
