import { type Clock, rfc3339, stopwatch } from "../base/clock.ts";
import { ServiceError } from "../provider/errors.ts";
import type { Intent, Journal, JournalEntry } from "./journal.ts";

/**
 * Sends a request that creates or costs something at most once.
 *
 * # Expected flow
 * 1. The caller looks for an entry of the object (intents.ts). With an entry, it does not call `submitOnce`.
 * 2. The caller writes the intent, with the ID of the journal's shard, to the object's status. Without it, a lost shard would
 *    hide the request.
 * 3. `send` waits for the account's rate limit, then awaits `commit`: the intent is written to etcd.
 * 4. When a connection accepts the request, `send` calls `beforeSend` and writes the first byte.
 * 5. `submitOnce` returns. For `Accepted` and `Unusable` the journal holds the outcome, for `Unknown` the intent without an
 *    outcome.
 *    For `NotSent` and `Refused` the entry is gone.
 * 6. The caller writes the outcome to the object's status, and then calls `journal.settle(entry.id)`.
 *
 * # Guarantees
 * - The intent is in etcd, under this process's epoch, before the first byte leaves.
 * - The lease and `assertWanted` are checked before the commit and again before the first byte. Nothing is sent when a
 *   check fails, when the journal is fenced, when the signal is aborted, or when the commit takes longer than
 *   `maxCommitMs`.
 * - An entry without an outcome stays until the caller settles it. When the process ends at any step, the next leader
 *   finds either no entry (nothing was sent), an entry without an outcome (unknown), or an entry with its outcome.
 * - It never rejects and never sends a second request.
 *
 * # Assumptions
 * - `send` awaits `commit` and calls `beforeSend` once each, in this order, sends nothing before `beforeSend` has returned,
 *   and sends one request at most. It throws what these two throw.
 * - Errors of the service are `ServiceError`. Its `delivery` is the verdict. An `AcceptedError` means that the service accepted
 *   the request; any other error after `beforeSend` has returned leaves the outcome unknown.
 * - One process at a time has an epoch of the journal.
 *
 * # Errors
 * - `NotSent`: no byte left. The error is that of a check, of the journal (`FencedError`), of the signal, or a
 *   `ServiceError` with delivery `NotSent`. The request can be sent again.
 * - `Refused`: the service's response proves that nothing happened.
 * - `Unusable`: the service accepted the request, and what it answered cannot be used. It is never sent again without a user's
 *   decision.
 * - `Unknown`: the request can have taken effect. Look for its effect, or ask the user, before another request is sent.
 */
export async function submitOnce<T>(deps: SubmitOnceDeps, request: SubmitOnceRequest<T>): Promise<SubmitOnceResult<T>> {
  const { journal, clock } = deps;
  const { signal, maxCommitMs } = request;
  const entry: Intent = { ...request.intent, time: rfc3339(clock.now()) };
  let sinceCommit = () => 0;
  let sent = false;

  const assertSendable = () => {
    deps.assertLeading();
    request.assertWanted();
    signal.throwIfAborted();
  };

  const commit = async () => {
    assertSendable(); // the request can have waited for the rate limit for minutes
    sinceCommit = stopwatch(clock);
    entry.time = rfc3339(clock.now());
    await journal.commit(entry, signal, request.journal);
  };

  const beforeSend = () => {
    const commitMs = sinceCommit();
    if (maxCommitMs !== undefined && commitMs > maxCommitMs) {
      throw new Error(
        `the journal needed ${commitMs / 1000} s to commit an intent, more than ${maxCommitMs / 1000} s: nothing is sent`,
      );
    }
    assertSendable();
    sent = true;
    request.onSent?.();
  };

  try {
    const value = await request.send({ signal, commit, beforeSend });
    journal.record(entry.id, request.outcomeOf(value));
    return { kind: "Accepted", entry, value };
  } catch (error) {
    const delivery = sent ? deliveryOf(error) : "NotSent";
    if (delivery === "Unknown") return { kind: "Unknown", entry, error };
    if (delivery === "Accepted") {
      const kept = error instanceof AcceptedError ? error.kept : {};
      journal.record(entry.id, { ...kept, [UNUSABLE]: messageOf(error).slice(0, MESSAGE_LIMIT) });
      return { kind: "Unusable", entry, error };
    }
    journal.settle(entry.id);
    if (error instanceof ServiceError && delivery === "Refused") return { kind: "Refused", entry, error };
    return { kind: "NotSent", entry, error };
  }
}

export type SubmitOnceDeps = {
  journal: Pick<Journal, "commit" | "record" | "settle">;
  clock: Clock;
  /** Throws unless this process holds the lease. */
  assertLeading: () => void;
};

/** What `send` hands to the call of the service. */
export type SendOptions = { signal: AbortSignal; commit: () => Promise<void>; beforeSend: () => void };

export type SubmitOnceRequest<T> = {
  intent: Omit<Intent, "time">;
  /** ID of the journal's shard, as the status shows it. */
  journal?: string | undefined;
  /** Throws when the object no longer wants the request: it is deleted, suspended or changed. */
  assertWanted(): void;
  send(options: SendOptions): Promise<T>;
  /** What the journal keeps of an accepted request. */
  outcomeOf(value: T): Record<string, string>;
  /** Called right before the first byte leaves. */
  onSent?(): void;
  /** Longest time between the start of the commit and the first byte, ms. Default: no limit. */
  maxCommitMs?: number;
  signal: AbortSignal;
};

export type SubmitOnceResult<T> = { entry: JournalEntry } & (
  | { kind: "Accepted"; value: T }
  | { kind: "NotSent"; error: unknown }
  | { kind: "Refused"; error: ServiceError }
  | { kind: "Unusable"; error: unknown }
  | { kind: "Unknown"; error: unknown }
);

/**
 * The service accepted the request (2xx), and not all that it sent could be kept. `kept`: what the journal keeps of the rest.
 * Default message: that of the cause.
 */
export class AcceptedError extends Error {
  override readonly name = "AcceptedError";
  readonly kept: Record<string, string>;
  constructor(cause: unknown, kept: Record<string, string> = {}, message = messageOf(cause)) {
    super(message, { cause });
    this.kept = kept;
  }
}

const UNUSABLE = "unusable";
/** Of a message in the journal, whose ConfigMaps are bounded. */
const MESSAGE_LIMIT = 500;

/** Why the response to an accepted request cannot be used; undefined: it can, or no outcome is known. */
export function unusableOutcome({ outcome }: Pick<JournalEntry, "outcome">): string | undefined {
  return outcome?.[UNUSABLE];
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function deliveryOf(error: unknown): ServiceError["delivery"] {
  if (error instanceof AcceptedError) return "Accepted";
  return error instanceof ServiceError ? error.delivery : "Unknown";
}
