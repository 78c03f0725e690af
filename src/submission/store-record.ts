import { type Clock, delay, rfc3339 } from "../base/clock.ts";
import { isConflict, KubeError } from "../kube/errors.ts";
import type { Resource } from "../kube/resource.ts";
import { type KubeObject, keyOf } from "../kube/types.ts";
import { backoffDelay } from "../runtime/backoff.ts";
import type { ObjectReader } from "../runtime/object-reader.ts";
import { type SubmissionRecord, UnwantedRequestError } from "./record.ts";

/** The object that a request is for, and how it shows a record. */
export type RecordedObject<T extends KubeObject> = {
  resource: Resource;
  /** The version that the record is written to first. Undefined: the object is gone. */
  latest(): T | undefined;
  /** Writes the record to this version of the object. @throws KubeError 409 when the object has another version */
  write(object: T, record: SubmissionRecord, signal: AbortSignal): Promise<T>;
  /** The record that the object has. */
  shown(object: T): { id: string; sender?: string | undefined; time?: string | undefined } | undefined;
  /** Whether a record may be written to this version of the object: it shows no other request. */
  mayWrite(object: T): boolean;
  /** The object as a consistent read shows it after a conflict. */
  onRead?(object: T): void;
};

export type StoreRecordDeps = { clock: Clock; random: () => number; reader: ObjectReader };

const BACKOFF = { baseMs: 50, capMs: 5_000, jitter: 0.5 };

/**
 * Writes the record of a request to its object. Resolves when the API server has shown that the object has the whole record. A write
 * without a clear response is repeated until one is clear: a repeated write that was applied before is refused because of its version (409), and
 * a consistent read shows the record. Sets the time of the record to that of the write that is stored.
 * @throws UnwantedRequestError | KubeError 409 when the object is gone, or has changed so that the record may not be written
 * @throws Error when the record is not written; when it is not known whether it is, only the signal's reason
 */
export async function storeRecord<T extends KubeObject>(
  deps: StoreRecordDeps,
  recorded: RecordedObject<T>,
  record: SubmissionRecord,
  signal: AbortSignal,
): Promise<T> {
  const first = recorded.latest();
  if (first === undefined || !recorded.mayWrite(first)) {
    const { kind } = recorded.resource;
    throw new UnwantedRequestError(`the ${kind} changed before its request was sent: nothing is sent`);
  }
  let latest = first;
  for (let failures = 1; ; failures++) {
    try {
      const { object, isStored } = await writeOnce(deps, recorded, { object: latest, record }, signal);
      if (isStored) {
        record.time = recorded.shown(object)?.time ?? record.time;
        return object;
      }
      latest = object;
    } catch (error) {
      if (!(error instanceof KubeError) || !isUnclear(error)) throw error;
    }
    await delay(deps.clock, backoffDelay(failures, { ...BACKOFF, random: deps.random }), signal);
    signal.throwIfAborted();
  }
}

/** Not stored: the record may be written to the object that it returns. @throws KubeError 409 when it may not */
async function writeOnce<T extends KubeObject>(
  { reader, clock }: StoreRecordDeps,
  recorded: RecordedObject<T>,
  { object, record }: { object: T; record: SubmissionRecord },
  signal: AbortSignal,
): Promise<{ object: T; isStored: boolean }> {
  const { resource, write } = recorded;
  try {
    record.time = rfc3339(clock.now());
    const stored = await write(object, record, signal);
    if (hasRecord(recorded, stored, record)) return { object: stored, isStored: true };
  } catch (error) {
    if (!isConflict(error)) throw error;
    const read = await reader.read<T>(resource, keyOf(object), signal);
    const found = read.kind === "Found" ? read.object : undefined;
    if (found !== undefined) recorded.onRead?.(found);
    if (found !== undefined && hasRecord(recorded, found, record)) return { object: found, isStored: true };
    if (found === undefined || !recorded.mayWrite(found)) throw error;
    return { object: found, isStored: false };
  }
  // A CustomResourceDefinition of another version drops fields that it does not have, and reports success.
  throw new Error(
    `the API server does not store the record of the request in ${resource.kind} ${keyOf(object)}, so nothing is sent: upgrade the CRDs to the version of the operator`,
  );
}

/** Whether the object has the whole record. */
function hasRecord<T extends KubeObject>({ shown }: RecordedObject<T>, object: T, record: SubmissionRecord): boolean {
  const { id, sender } = shown(object) ?? {};
  return object.metadata.uid === record.uid && id === record.id && sender === record.sender;
}

/** Whether the API server may have stored the record. */
function isUnclear({ status }: KubeError): boolean {
  return status === 0 || status === 408 || status === 429 || status >= 500;
}
