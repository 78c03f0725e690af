import { type Clock, delay } from "../base/clock.ts";
import { isConflict, KubeError } from "../kube/errors.ts";
import { backoffDelay } from "../runtime/backoff.ts";

/** How the record of a request is written to its object, and read back. */
export type RecordWrite<T> = {
  /** Writes the record to this version of the object. @throws KubeError 409 when the object has another version */
  write(object: T): Promise<T>;
  /** A consistent read. Undefined: the object is gone, or may not be read. */
  read(): Promise<T | undefined>;
  /** Whether the object has the whole record. */
  hasRecord(object: T): boolean;
  /** Whether the record may be written to this later version of the object: it shows no other request. */
  mayWrite(object: T): boolean;
  /** Kind and name of the object, for messages. */
  name: string;
};

type Deps = { clock: Clock; random: () => number };

const BACKOFF = { baseMs: 50, capMs: 5_000, jitter: 0.5 };

/**
 * Writes the record of a request to its object. Resolves when the API server has shown that the object has the whole record. A write
 * without a clear response is repeated until one is clear: a repeated write that was applied before is refused for its version (409), and
 * a read tells.
 * @param object the version that the request was decided on, or a later one
 * @throws Error when the record is not written; when it is not known whether it is, only the signal's reason
 */
export async function storeRecord<T>(
  { clock, random }: Deps,
  object: T,
  record: RecordWrite<T>,
  signal: AbortSignal,
): Promise<T> {
  let latest = object;
  for (let failures = 1; ; failures++) {
    try {
      const { object: found, isStored } = await writeOnce(latest, record);
      if (isStored) return found;
      latest = found;
    } catch (error) {
      if (!(error instanceof KubeError) || !isUnclear(error)) throw error;
    }
    await delay(clock, backoffDelay(failures, { ...BACKOFF, random }), signal);
    signal.throwIfAborted();
  }
}

/** Not stored: the record may be written to the object that it returns. @throws KubeError 409 when it may not */
async function writeOnce<T>(object: T, record: RecordWrite<T>): Promise<{ object: T; isStored: boolean }> {
  try {
    return { object: whole(record, await record.write(object)), isStored: true };
  } catch (error) {
    if (!isConflict(error)) throw error;
    const found = await record.read();
    if (found !== undefined && record.hasRecord(found)) return { object: found, isStored: true };
    if (found === undefined || !record.mayWrite(found)) throw error;
    return { object: found, isStored: false };
  }
}

/** A CustomResourceDefinition of another version drops fields that it does not have, and reports success. */
function whole<T>({ hasRecord, name }: RecordWrite<T>, stored: T): T {
  if (hasRecord(stored)) return stored;
  throw new Error(
    `the API server does not store the record of the request in ${name}, so nothing is sent: upgrade the CRDs to the version of the operator`,
  );
}

/** The API server may have stored it. */
function isUnclear({ status }: KubeError): boolean {
  return status === 0 || status === 408 || status === 429 || status >= 500;
}
