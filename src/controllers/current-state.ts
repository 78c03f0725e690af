import { isLaterVersion, type KubeObject, keyOf } from "../kube/types.ts";
import { missingGet, type ReadObject } from "../runtime/object-reader.ts";
import type { Kind } from "./controller-deps.ts";

/** The API server has another state of the object than the store. Nothing is sent: reconcile again when the store has caught up. */
export class OutdatedObjectError extends Error {
  override readonly name = "OutdatedObjectError";
}

/** The operator lacks the right `get`, and has not written the object. Nothing is sent. A write of the status ends this. */
export class UnprovenObjectError extends Error {
  override readonly name = "UnprovenObjectError";
}

/**
 * Which objects surely show everything that earlier servers of their account acted on. After a takeover, the store can show an object as it
 * was before the last acts of an earlier server: the API server that lists it lags. That server can have created its endpoint, or have
 * cleaned it up because the object was deleted. So before the first write to the service for an object, this process proves that the
 * object is not older than its term. One proof for each object is enough, because the store never goes back in time.
 */
export type CurrentState<T extends KubeObject> = {
  /**
   * Reads the object unless it is proven.
   * @throws OutdatedObjectError when the API server has another state of the object, or no such object
   * @throws UnprovenObjectError when the operator may not read it
   * @throws KubeError when the read fails
   */
  assertCurrent(object: T, signal: AbortSignal): Promise<void>;
};

/**
 * Observes the writes of a kind. Returns the kind to write with.
 * @param read a consistent read of one object of the kind
 * @param memoryOf what the process remembers of an object. `proven`: its resourceVersion as this process last wrote or read it
 */
export function observeCurrentState<T extends KubeObject>(
  plain: Kind<T>,
  read: (key: string, signal: AbortSignal) => Promise<ReadObject<T>>,
  memoryOf: (object: T) => { proven?: string | undefined },
): { kind: Kind<T>; currentState: CurrentState<T> } {
  function prove(object: T): void {
    memoryOf(object).proven = object.metadata.resourceVersion;
  }

  function observeWrite(before: T, after: T): T {
    if (after !== before) prove(after);
    return after;
  }

  /** Whether the object is as this process wrote or read it, or newer. A write has the object's resourceVersion as the lock. */
  function isProven(object: T): boolean {
    const { proven } = memoryOf(object);
    return proven !== undefined && !isLaterVersion(proven, object.metadata.resourceVersion);
  }

  return {
    kind: {
      ...plain,
      patchStatus: async (object, status, signal) =>
        observeWrite(object, await plain.patchStatus(object, status, signal)),
      setFinalizer: async (object, wanted, signal, annotations) =>
        observeWrite(object, await plain.setFinalizer(object, wanted, signal, annotations)),
    },
    currentState: {
      async assertCurrent(object, signal) {
        if (isProven(object)) return;
        const { resource } = plain;
        const key = keyOf(object);
        const found = await read(key, signal);
        if (found.kind === "Forbidden")
          throw new UnprovenObjectError(missingGet(`${resource.plural}.${resource.group}`));
        const { uid, resourceVersion } = found.kind === "Found" ? found.object.metadata : {};
        if (uid !== object.metadata.uid || resourceVersion !== object.metadata.resourceVersion) {
          throw new OutdatedObjectError(`${resource.kind} ${key} changed before its request was sent: nothing is sent`);
        }
        prove(object);
      },
    },
  };
}
