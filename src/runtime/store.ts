import type { KubeObject } from "../kube/types.ts";

/** `namespace/name`, or `name` for a cluster-scoped object. */
export function keyOf(object: KubeObject): string {
  const { namespace, name } = object.metadata;
  return namespace === undefined ? name : `${namespace}/${name}`;
}

export function splitKey(key: string): { namespace: string | undefined; name: string } {
  const slash = key.indexOf("/");
  return slash < 0
    ? { namespace: undefined, name: key }
    : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

export type Change<T> =
  | { type: "Added"; object: T; initial: boolean }
  | { type: "Modified"; object: T; previous: T }
  | { type: "Deleted"; object: T };

export type Indexer<T> = (object: T) => string[];

/**
 * The local copy of a kind. It never goes back in time: an event older than what is stored is dropped, and our own
 * writes are stored as soon as the API server confirms them, so that a reconcile always reads what it wrote.
 */
export type Store<T extends KubeObject> = {
  get(key: string): T | undefined;
  list(): Iterable<T>;
  size(): number;
  byIndex(index: string, value: string): T[];
  /** One object of a watch event. Returns the change, or undefined when the store had it already. */
  upsert(object: T, initial?: boolean): Change<T> | undefined;
  remove(object: T): Change<T> | undefined;
  /** The answer to our own write: taken only when the object is still here and older. */
  observeWrite(object: T): void;
  /** A consistent list: what is absent from it is gone. Returns the deletions it implies. */
  removeAbsent(keys: ReadonlySet<string>): Change<T>[];
};

/** @param trim drops what nothing needs from an object before it is stored; it changes neither metadata nor what is indexed */
export function createStore<T extends KubeObject>(
  indexers: Record<string, Indexer<T>> = {},
  trim: (object: T) => void = () => {},
): Store<T> {
  const objects = new Map<string, T>();
  const indexes = new Map(Object.keys(indexers).map((name) => [name, new Map<string, Set<string>>()]));

  function put(key: string, object: T): void {
    const previous = objects.get(key);
    if (previous !== undefined) unindex(key, previous);
    objects.set(key, object);
    for (const [name, indexer] of Object.entries(indexers)) {
      for (const value of indexer(object)) {
        const index = indexes.get(name);
        const keys = index?.get(value) ?? new Set<string>();
        keys.add(key);
        index?.set(value, keys);
      }
    }
  }

  function unindex(key: string, object: T): void {
    for (const [name, indexer] of Object.entries(indexers)) {
      const index = indexes.get(name);
      for (const value of indexer(object)) {
        const keys = index?.get(value);
        keys?.delete(key);
        if (keys?.size === 0) index?.delete(value);
      }
    }
  }

  /** `last`: the object's last state, which may be newer than the one that was stored and indexed. */
  function drop(key: string, stored: T, last: T): Change<T> {
    unindex(key, stored);
    objects.delete(key);
    return { type: "Deleted", object: last };
  }

  return {
    get: (key) => objects.get(key),
    list: () => objects.values(),
    size: () => objects.size,
    byIndex(index, value) {
      const keys = indexes.get(index)?.get(value) ?? new Set<string>();
      return [...keys].flatMap((key) => objects.get(key) ?? []);
    },
    upsert(object, initial = false) {
      trim(object);
      const key = keyOf(object);
      const previous = objects.get(key);
      if (previous === undefined) {
        put(key, object);
        return { type: "Added", object, initial };
      }
      if (previous.metadata.uid !== object.metadata.uid) {
        put(key, object);
        return { type: "Modified", object, previous };
      }
      if (!isNewer(object, previous)) return undefined;
      put(key, object);
      return { type: "Modified", object, previous };
    },
    remove(object) {
      const key = keyOf(object);
      const previous = objects.get(key);
      if (previous === undefined || previous.metadata.uid !== object.metadata.uid) return undefined;
      return drop(key, previous, object);
    },
    observeWrite(object) {
      const key = keyOf(object);
      const previous = objects.get(key);
      if (previous?.metadata.uid === object.metadata.uid && previous !== undefined && isNewer(object, previous)) {
        trim(object);
        put(key, object);
      }
    },
    removeAbsent(keys) {
      const gone: Change<T>[] = [];
      for (const [key, object] of objects) if (!keys.has(key)) gone.push(drop(key, object, object));
      return gone;
    },
  };
}

function isNewer(a: KubeObject, b: KubeObject): boolean {
  return isLaterVersion(a.metadata.resourceVersion, b.metadata.resourceVersion);
}

/** Resource versions of one kind are ordered integers (Kubernetes 1.35, "comparable resource versions"). */
export function isLaterVersion(a: string | undefined, b: string | undefined): boolean {
  return BigInt(a ?? "0") > BigInt(b ?? "0");
}
