import { createMultiMap } from "../base/multi-map.ts";
import { isSameJSON } from "../base/same-json.ts";
import { createSharedTexts } from "../base/shared-texts.ts";
import { isLaterVersion, type KubeObject, keyOf } from "../kube/types.ts";

export type Change<T> =
  | { type: "Added"; object: T; initial: boolean }
  | { type: "Modified"; object: T; previous: T }
  | { type: "Deleted"; object: T };

/** Whether only the status changed. The store keeps an unchanged spec as the same value. */
export function isOfStatusAlone<T extends KubeObject>(change: Change<T>): boolean {
  if (change.type !== "Modified" || change.object.spec !== change.previous.spec) return false;
  const { metadata } = change.object;
  return isSameJSON({ ...change.previous.metadata, resourceVersion: metadata.resourceVersion }, metadata);
}

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
  /** Whether one of them matches: ends with the first that does. */
  someInIndex(index: string, value: string, matches: (object: T) => boolean): boolean;
  /** One object of a watch event. Returns the change, or undefined when the store had it already. */
  upsert(object: T, initial?: boolean): Change<T> | undefined;
  remove(object: T): Change<T> | undefined;
  /** The response to a write of this process: stored only if the store has the object in an older version. Returns it as the store keeps objects. */
  observeWrite(object: T): T;
  /** A consistent list: objects that it lacks are deleted. Returns these deletions. */
  removeAbsent(keys: ReadonlySet<string>): Change<T>[];
};

/**
 * @param trim drops unused fields of an object before it is stored; it changes neither metadata nor indexed fields
 * @param kept the object as it is stored, such as without long fields
 * @param replaces whether an object replaces another one of the same version, such as one that was stored without some fields
 */
export function createStore<T extends KubeObject>(
  indexers: Record<string, Indexer<T>> = {},
  trim: (object: T) => void = () => {},
  kept: (object: T) => T = (object) => object,
  replaces: (next: T, previous: T) => boolean = () => false,
): Store<T> {
  const objects = new Map<string, T>();
  const texts = createSharedTexts();
  const indexes = new Map(Object.entries(indexers).map(([name, indexer]) => [name, createIndex(indexer)]));

  function put(key: string, object: T): void {
    const previous = objects.get(key);
    // An unchanged spec stays the same value in memory: what is computed of a spec is kept with it (`specProblem`).
    if (previous !== undefined && isSameJSON(previous.spec, object.spec)) object.spec = previous.spec;
    texts.share(object, previous?.spec);
    objects.set(key, object);
    for (const index of indexes.values()) index.move(key, previous, object);
  }

  /** `last`: the object's last state, which may be newer than the one that was stored and indexed. */
  function drop(key: string, stored: T, last: T): Change<T> {
    for (const index of indexes.values()) index.move(key, stored, undefined);
    objects.delete(key);
    return { type: "Deleted", object: last };
  }

  function isMore(next: T, previous: T): boolean {
    return next.metadata.resourceVersion === previous.metadata.resourceVersion && replaces(next, previous);
  }

  function* inIndex(index: string, value: string): Generator<T> {
    for (const key of indexes.get(index)?.keys(value) ?? []) {
      const object = objects.get(key);
      if (object !== undefined) yield object;
    }
  }

  return {
    get: (key) => objects.get(key),
    list: () => objects.values(),
    size: () => objects.size,
    byIndex: (index, value) => [...inIndex(index, value)],
    someInIndex(index, value, matches) {
      for (const object of inIndex(index, value)) if (matches(object)) return true;
      return false;
    },
    upsert(whole, initial = false) {
      trim(whole);
      const object = kept(whole);
      const key = keyOf(object);
      const previous = objects.get(key);
      const isSame = previous?.metadata.uid === object.metadata.uid;
      if (previous !== undefined && isSame && !isNewer(object, previous) && !isMore(object, previous)) return undefined;
      put(key, object);
      return previous === undefined ? { type: "Added", object, initial } : { type: "Modified", object, previous };
    },
    remove(object) {
      const key = keyOf(object);
      const previous = objects.get(key);
      if (previous === undefined || previous.metadata.uid !== object.metadata.uid) return undefined;
      return drop(key, previous, object);
    },
    observeWrite(whole) {
      const object = kept(whole);
      const key = keyOf(object);
      const previous = objects.get(key);
      if (previous?.metadata.uid === object.metadata.uid && previous !== undefined && isNewer(object, previous)) {
        trim(object);
        put(key, object);
      }
      return object;
    },
    removeAbsent(keys) {
      const gone: Change<T>[] = [];
      for (const [key, object] of objects) if (!keys.has(key)) gone.push(drop(key, object, object));
      return gone;
    },
  };
}

/** The keys of the objects, by what an indexer makes of them. */
function createIndex<T>(indexer: Indexer<T>) {
  const keys = createMultiMap<string>();

  return {
    keys: keys.of,
    /** The object of this key was `before` and is `after`; undefined: there was or is none. */
    move(key: string, before: T | undefined, after: T | undefined): void {
      const from = before === undefined ? [] : indexer(before);
      const to = after === undefined ? [] : indexer(after);
      if (from.length === to.length && from.every((value, at) => value === to[at])) return;
      for (const value of from) keys.remove(value, key);
      for (const value of to) keys.add(value, key);
    },
  };
}

function isNewer(a: KubeObject, b: KubeObject): boolean {
  return isLaterVersion(a.metadata.resourceVersion, b.metadata.resourceVersion);
}

const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/**
 * Drops fields that nothing reads and that would double the memory of each object. With copies: V8 keeps an object whose fields were deleted as
 * a hash table, which takes more memory than the fields.
 */
export function compact<T extends KubeObject>(object: T): T {
  if (object.metadata.managedFields !== undefined) {
    const { managedFields: _, ...metadata } = object.metadata;
    object.metadata = metadata;
  }
  if (object.metadata.annotations?.[LAST_APPLIED] !== undefined) {
    const { [LAST_APPLIED]: _, ...annotations } = object.metadata.annotations;
    object.metadata.annotations = annotations;
  }
  return object;
}
