import { type Clock, rfc3339, stopwatch } from "../base/clock.ts";
import { ServiceError } from "../provider/errors.ts";
import type { SubmissionRecord } from "./record.ts";

/**
 * Sends a request that creates or costs something at most once.
 *
 * # Expected flow
 * 1. The caller looks for a record of the object without an outcome. With one, it does not call `submitOnce`.
 * 2. `send` waits for a connection and for the account's rate limit, then awaits `commit`: `store` writes the record to the object.
 * 3. `send` calls `beforeSend` and writes the first byte.
 * 4. `submitOnce` returns, and the caller writes the outcome to the object's status.
 *
 * # Guarantees
 * - The object has the record before the first byte leaves.
 * - The lease and `assertWanted` are checked before the record is written and again before the first byte. Nothing is sent when a
 *   check fails, when the record is not surely stored, when the signal is aborted, or when the write takes longer than `maxStoreMs`.
 * - It never rejects and never sends a second request.
 *
 * # Assumptions
 * - `send` awaits `commit` and calls `beforeSend` once each, in this order, sends nothing before `beforeSend` has returned,
 *   and sends one request at most. It throws what these two throw.
 * - Errors of the service are `ServiceError`. Its `delivery` is the verdict. An `AcceptedError` means that the service accepted
 *   the request; any other error after `beforeSend` has returned leaves the outcome unknown.
 *
 * # Errors
 * - `NotSent`: no byte left. The error is that of a check, of the write, of the signal, or a `ServiceError` with delivery
 *   `NotSent`. The request can be sent again.
 * - `Refused`: the service's response proves that nothing happened.
 * - `Unusable`: the service accepted the request, and what it answered cannot be used. It is never sent again without a user's
 *   decision.
 * - `Unknown`: the request can have taken effect. Look for its effect, or ask the user, before another request is sent.
 */
export async function submitOnce<T>(deps: SubmitOnceDeps, request: SubmitOnceRequest<T>): Promise<SubmitOnceResult<T>> {
  const { clock } = deps;
  const { signal, maxStoreMs } = request;
  const record: SubmissionRecord = { ...request.record, time: rfc3339(clock.now()) };
  let sinceStore = () => 0;
  let sent = false;
  let recorded = false;

  const assertSendable = () => {
    deps.assertLeading();
    request.assertWanted();
    signal.throwIfAborted();
  };

  const commit = async () => {
    assertSendable(); // the request can have waited for the rate limit for minutes
    sinceStore = stopwatch(clock);
    record.time = rfc3339(clock.now());
    recorded = true;
    await request.store(record, signal);
  };

  const beforeSend = () => {
    const storeMs = sinceStore();
    if (maxStoreMs !== undefined && storeMs > maxStoreMs) {
      throw new Error(
        `the API server needed ${storeMs / 1000} s to store the record of the request, more than ${maxStoreMs / 1000} s: nothing is sent`,
      );
    }
    if (!recorded) throw new Error("a request without a record: nothing is sent");
    assertSendable();
    sent = true;
    request.onSent?.();
  };

  try {
    return { kind: "Accepted", record, value: await request.send({ signal, commit, beforeSend }) };
  } catch (error) {
    const delivery = sent ? deliveryOf(error) : "NotSent";
    if (delivery === "Unknown") return { kind: "Unknown", record, error };
    if (delivery === "Accepted") return { kind: "Unusable", record, error };
    if (error instanceof ServiceError && delivery === "Refused") return { kind: "Refused", record, error };
    return { kind: "NotSent", record, error, recorded };
  }
}

export type SubmitOnceDeps = {
  clock: Clock;
  /** Throws unless this process holds the lease. */
  assertLeading: () => void;
};

/** What `send` hands to the call of the service. */
export type SendOptions = { signal: AbortSignal; commit: () => Promise<void>; beforeSend: () => void };

export type SubmitOnceRequest<T> = {
  record: Omit<SubmissionRecord, "time">;
  /** Writes the record to the object. Rejects unless the object surely has it (`storeRecord`). */
  store(record: SubmissionRecord, signal: AbortSignal): Promise<unknown>;
  /** Throws when the object no longer wants the request: it is deleted, suspended or changed. */
  assertWanted(): void;
  send(options: SendOptions): Promise<T>;
  /** Called right before the first byte leaves. */
  onSent?(): void;
  /** Longest time between the begin of the write and the first byte, ms. Default: no limit. */
  maxStoreMs?: number;
  signal: AbortSignal;
};

export type SubmitOnceResult<T> = { record: SubmissionRecord } & (
  | { kind: "Accepted"; value: T }
  /** `recorded`: the object may have the record. */
  | { kind: "NotSent"; error: unknown; recorded: boolean }
  | { kind: "Refused"; error: ServiceError }
  | { kind: "Unusable"; error: unknown }
  | { kind: "Unknown"; error: unknown }
);

/**
 * The service accepted the request (2xx), and not all that it sent could be kept. `kept`: the rest.
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

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function deliveryOf(error: unknown): ServiceError["delivery"] {
  if (error instanceof AcceptedError) return "Accepted";
  return error instanceof ServiceError ? error.delivery : "Unknown";
}
