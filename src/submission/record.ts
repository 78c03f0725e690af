import { rfc3339 } from "../base/clock.ts";

/** The account that a request is sent to, as the status of its object shows it. */
export type RequestAccount = { kind: "Account" | "ClusterAccount"; name: string; baseURL: string };

/**
 * The record of a request that costs or creates something. It is written to the object that the request is for, right before the request
 * is sent, and nowhere else.
 *
 * - A job has it in `status.submission` and `status.account`, an endpoint in the annotation `mooring.dev/create`.
 * - The write has the object's version as precondition, so two processes never send for the same state of an object.
 * - Only the process that wrote an ID sends it, once. That process knows what it sent; to every other process, a record without an
 *   outcome means that the request may have been sent.
 */
export type SubmissionRecord = {
  /** Unique per submission. */
  id: string;
  /** UID of the object. A copy of the object has another one. */
  uid: string;
  /** Counted from 1. */
  attempt: number;
  operation: string;
  specHash: string;
  account: RequestAccount;
  /** Version of the API key that the request is sent with. */
  keyVersion?: string | undefined;
  /** The process that sends the request: the holder identity of its lease, which no other process has. */
  sender: string;
  /** RFC 3339. */
  time: string;
};

/** A record whose outcome the object does not show yet. `account`: absent when the status lost it. */
export type OpenSubmission = Omit<SubmissionRecord, "account"> & { account?: RequestAccount | undefined };

/** The last request as the status of an object shows it. */
export type ShownSubmission =
  | { id: string; attempt: number; state: "Intended" | "Accepted" | "NotSent" | "Refused" | "Unknown" }
  | undefined;

/** The object no longer wants this request, or wants another one. Nothing is sent. */
export class UnwantedRequestError extends Error {
  override readonly name = "UnwantedRequestError";
}

/** The submission that the status shows after an outcome. `now`: ms since the epoch. */
export function submissionOf<State extends string>(
  { id, specHash, attempt }: Pick<SubmissionRecord, "id" | "specHash" | "attempt">,
  state: State,
  now: number,
) {
  return { id, specHash, attempt, state, time: rfc3339(now) };
}

/** The attempt that follows a submission, counted from 1. A request without effect does not count. */
export function nextAttempt(submission: ShownSubmission): number {
  const { attempt = 0, state } = submission ?? {};
  return state === "Intended" || state === "NotSent" ? attempt : attempt + 1;
}
