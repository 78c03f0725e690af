import { rfc3339, stopwatch } from "../base/clock.ts";
import type { KubeObject } from "../kube/types.ts";
import type { SendOptions } from "../provider/call-options.ts";
import { ServiceError } from "../provider/errors.ts";
import { type SubmissionRecord, UnwantedRequestError } from "./record.ts";
import { type RecordedObject, type StoreRecordDeps, storeRecord } from "./store-record.ts";

/**
 * Sends a request that creates or costs something at most once.
 *
 * # Expected flow
 * 1. The caller looks for a record of the object without an outcome. With one, it does not call `submitOnce`.
 * 2. `send` waits for a connection and for the account's rate limit, then awaits `commit`: `storeRecord` writes the record to the object.
 * 3. `send` calls `beforeSend` and writes the first byte.
 * 4. `submitOnce` returns, and the caller writes the outcome to the object's status.
 *
 * # Guarantees
 * - The object has the record before the first byte leaves.
 * - `assertWanted` and the API key are checked before the record is written and again before the first byte, right after `send` has
 *   checked that this process serves the account. Nothing is sent when a check fails, when the record is not surely stored, when the
 *   signal is aborted, or when the write takes longer than `maxStoreMs`.
 * - It never rejects and never sends a second request.
 *
 * # Assumptions
 * - `send` awaits `commit` and calls `beforeSend` once each, in this order, each only while this process surely holds the lease. It
 *   sends nothing before `beforeSend` has returned, and one request at most. It throws what these two throw.
 * - Errors of the service are `ServiceError`. Its `delivery` is the verdict. An `AcceptedError` means that the service accepted
 *   the request; any other error after `beforeSend` has returned leaves the outcome unknown.
 *
 * # Errors
 * - `NotSent`: no byte left. The error is that of a check, of the write, of the signal, or a `ServiceError` with delivery
 *   `NotSent`. The request can be sent again.
 * - `Refused`: the service's response proves that nothing happened.
 * - `Unusable`: the service accepted the request, and its response cannot be used. It is never sent again without a user's
 *   decision.
 * - `Unknown`: the request can have taken effect. Look for its effect, or ask the user, before another request is sent.
 */
export async function submitOnce<T extends KubeObject, V>(
  deps: SubmitOnceDeps,
  request: SubmitOnceRequest<T, V>,
): Promise<SubmitOnceResult<V>> {
  const { clock } = deps;
  const { signal, maxStoreMs } = request;
  const record = recordOf(deps, request);
  let sinceStore: (() => number) | undefined;
  let sent = false;

  const assertSendable = () => {
    request.assertWanted();
    if (request.keyVersion() !== record.keyVersion) {
      throw new UnwantedRequestError("the API key changed before the request was sent: nothing is sent");
    }
    signal.throwIfAborted();
  };

  const commit = async () => {
    await request.confirmServing(signal);
    assertSendable(); // the request can have waited for the rate limit for minutes
    sinceStore = stopwatch(clock);
    const object = await storeRecord(deps, request.object, record, signal);
    request.onStored?.(object, record);
  };

  const beforeSend = () => {
    if (sinceStore === undefined) throw new Error("a request without a record: nothing is sent");
    const storeMs = sinceStore();
    if (maxStoreMs !== undefined && storeMs > maxStoreMs) {
      throw new Error(
        `the API server needed ${storeMs / 1000} s to store the record of the request, more than ${maxStoreMs / 1000} s: nothing is sent`,
      );
    }
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
    return { kind: "NotSent", record, error, recorded: sinceStore !== undefined };
  }
}

/** No process sends a request under the ID of another one. */
function recordOf<T extends KubeObject, V>(
  { clock, newID, identity }: SubmitOnceDeps,
  { uid, attempt, operation, specHash, account, keyVersion }: SubmitOnceRequest<T, V>,
): SubmissionRecord {
  const time = rfc3339(clock.now());
  const request = { id: newID(), uid, attempt, operation, specHash };
  return { ...request, account, keyVersion: keyVersion(), sender: identity, time };
}

export type SubmitOnceDeps = StoreRecordDeps & {
  /** Makes the ID of a request. */
  newID: () => string;
  /** This process, as its records name it. */
  identity: string;
};

export type SubmitOnceRequest<T extends KubeObject, V> = Pick<
  SubmissionRecord,
  "uid" | "attempt" | "operation" | "specHash" | "account"
> & {
  /** Version of the API key that a request is sent with now. */
  keyVersion(): string;
  object: RecordedObject<T>;
  /** The object has the record. */
  onStored?(object: T, record: SubmissionRecord): void;
  /** Throws unless a read shows that this installation serves the account. */
  confirmServing(signal: AbortSignal): Promise<void>;
  /** Throws when the object no longer wants the request: it is deleted, suspended or changed. */
  assertWanted(): void;
  send(options: { [K in "signal" | "commit" | "beforeSend"]: NonNullable<SendOptions[K]> }): Promise<V>;
  /** Called right before the first byte leaves. */
  onSent?(): void;
  /** Longest time between the start of the write and the first byte, ms. Default: no limit. */
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

/** The service accepted the request (2xx), and its response cannot be used or stored. Default message: that of the cause. */
export class AcceptedError extends Error {
  override readonly name: string = "AcceptedError";
  constructor(cause: unknown, message = cause instanceof Error ? cause.message : String(cause)) {
    super(message, { cause });
  }
}

function deliveryOf(error: unknown): ServiceError["delivery"] {
  if (error instanceof AcceptedError) return "Accepted";
  return error instanceof ServiceError ? error.delivery : "Unknown";
}
