import { randomUUID } from "node:crypto";
import { rfc3339 } from "../../clock.ts";
import type { ReconcileContext } from "../../runtime/controller.ts";
import type { JournalEntry } from "../../runtime/journal.ts";
import { ServiceError } from "../../service/errors.ts";
import type { AccountHandle } from "../account/registry.ts";
import { hashOf } from "../hash.ts";
import { failureOf } from "../service-failure.ts";
import { assertPresent, type Kind, type Shared } from "../shared.ts";
import type { Accepted, Job, JobStatus, PaidRequest } from "./types.ts";

/** The four ways a paid request can end (api: "A paid request is sent at most once per attempt"). */
export type Submitted =
  | { kind: "Accepted"; entry: JournalEntry; accepted: Accepted }
  /** Surely without effect, and not for good: goes on by itself. */
  | { kind: "NotNow"; error: ServiceError }
  /** Surely without effect, and for good. */
  | { kind: "Refused"; error: ServiceError }
  | { kind: "Unknown"; entry: JournalEntry; error: ServiceError };

/**
 * Sends one paid request under the journal's protocol: the intent is committed before a byte is written; the entry
 * stays until the caller has the outcome in the status.
 */
export async function submit<T extends Job>(
  shared: Shared,
  account: AccountHandle,
  kind: Kind<T>,
  job: T,
  attempt: number,
  request: PaidRequest,
  { signal }: ReconcileContext,
): Promise<Submitted> {
  const { journal, clock } = shared;
  const { name, namespace, uid = "" } = job.metadata;
  const intent: JournalEntry = {
    id: randomUUID(),
    kind: kind.resource.kind,
    key: `${namespace}/${name}`,
    uid,
    operation: request.operation,
    attempt,
    specHash: hashOf(request.body),
    time: rfc3339(clock.now()),
  };
  try {
    const accepted = await request.send(account.client, {
      signal,
      beforeSend: async () => {
        await journal.commit(intent, signal);
        shared.assertLeading();
        assertPresent(kind, job);
      },
    });
    journal.record(intent.id, accepted);
    return { kind: "Accepted", entry: intent, accepted };
  } catch (error) {
    if (error instanceof ServiceError && error.delivery === "Unknown") return { kind: "Unknown", entry: intent, error };
    journal.settle(intent.id);
    if (!(error instanceof ServiceError)) throw error;
    return isFinal(error) ? { kind: "Refused", error } : { kind: "NotNow", error };
  }
}

/** A refusal is final unless it is about a limit, the key, or the service's own failure. */
function isFinal(error: ServiceError): boolean {
  return ["InvalidRequest", "NotFound", "NotEntitled"].includes(error.kind) && failureOf(error).kind === "Stalled";
}

/** Status fields of a submission that was accepted. */
export function acceptedStatus(entry: JournalEntry, accepted: Accepted, now: number): Partial<JobStatus> {
  return {
    submission: submissionOf(entry, "Accepted", now),
    attempts: entry.attempt,
    submitTime: entry.time,
    ...("taskID" in accepted ? { taskID: accepted.taskID } : {}),
  };
}

export function submissionOf(
  entry: JournalEntry,
  state: NonNullable<JobStatus["submission"]>["state"],
  now: number,
): NonNullable<JobStatus["submission"]> {
  return { id: entry.id, specHash: entry.specHash, attempt: entry.attempt, state, time: rfc3339(now) };
}

/** The outcome as the journal kept it. */
export function acceptedFrom(outcome: Record<string, string>): Accepted {
  const { taskID, url, type } = outcome;
  return taskID === undefined ? { url: url ?? "", type: type ?? "" } : { taskID };
}
