import { isDeepStrictEqual } from "node:util";
import type { Resource } from "../kube/resource.ts";
import { isLaterVersion, type KubeObject, keyOf } from "../kube/types.ts";
import type { ReflectorOptions } from "./list-watch.ts";
import { runReflector } from "./reflector.ts";

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
  /** Whether one of them matches: ends with the first that does. */
  someInIndex(index: string, value: string, matches: (object: T) => boolean): boolean;
  /** One object of a watch event. Returns the change, or undefined when the store had it already. */
  upsert(object: T, initial?: boolean): Change<T> | undefined;
  remove(object: T): Change<T> | undefined;
  /** The answer to our own write: taken only when the object is still here and older. Returns it as the store keeps objects. */
  observeWrite(object: T): T;
  /** A consistent list: what is absent from it is gone. Returns the deletions it implies. */
  removeAbsent(keys: ReadonlySet<string>): Change<T>[];
};

/**
 * @param trim drops what nothing needs from an object before it is stored; it changes neither metadata nor what is indexed
 * @param kept the object as it is stored, such as without what is long
 */
export function createStore<T extends KubeObject>(
  indexers: Record<string, Indexer<T>> = {},
  trim: (object: T) => void = () => {},
  kept: (object: T) => T = (object) => object,
): Store<T> {
  const objects = new Map<string, T>();
  const indexes = new Map(Object.entries(indexers).map(([name, indexer]) => [name, createIndex(indexer)]));

  function put(key: string, object: T): void {
    const previous = objects.get(key);
    // An unchanged spec stays the same value in memory: what is computed of a spec is kept with it (`specProblem`).
    if (isDeepStrictEqual(previous?.spec, object.spec)) object.spec = previous?.spec ?? object.spec;
    objects.set(key, object);
    for (const index of indexes.values()) index.move(key, previous, object);
  }

  /** `last`: the object's last state, which may be newer than the one that was stored and indexed. */
  function drop(key: string, stored: T, last: T): Change<T> {
    for (const index of indexes.values()) index.move(key, stored, undefined);
    objects.delete(key);
    return { type: "Deleted", object: last };
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
      if (previous !== undefined && isSame && !isNewer(object, previous)) return undefined;
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

/** The keys of the objects that an indexer gives a value. */
function createIndex<T>(indexer: Indexer<T>) {
  const keysOf = new Map<string, Set<string>>();

  function remove(key: string, value: string): void {
    const keys = keysOf.get(value);
    keys?.delete(key);
    if (keys?.size === 0) keysOf.delete(value);
  }

  function add(key: string, value: string): void {
    const keys = keysOf.get(value);
    if (keys === undefined) keysOf.set(value, new Set([key]));
    else keys.add(key);
  }

  return {
    keys: (value: string): Iterable<string> => keysOf.get(value) ?? [],
    /** The object of this key was `before` and is `after`; undefined: there was or is none. */
    move(key: string, before: T | undefined, after: T | undefined): void {
      const from = before === undefined ? [] : indexer(before);
      const to = after === undefined ? [] : indexer(after);
      if (from.length === to.length && from.every((value, at) => value === to[at])) return;
      for (const value of from) remove(key, value);
      for (const value of to) add(key, value);
    },
  };
}

function isNewer(a: KubeObject, b: KubeObject): boolean {
  return isLaterVersion(a.metadata.resourceVersion, b.metadata.resourceVersion);
}

export type Informer<T extends KubeObject> = {
  readonly resource: Resource;
  readonly store: Store<T>;
  /** Called for each change, in order; an initial list comes as `Added` with `initial`. */
  onChange(handler: (change: Change<T>) => void): void;
  /** Lists and watches until `signal` aborts; resolves once the first lists are complete. */
  start(signal: AbortSignal): Promise<void>;
  synced(): boolean;
  /** Resolves when every watch has ended after the abort. */
  stopped(): Promise<void>;
};

export type InformerOptions<T extends KubeObject> = Omit<ReflectorOptions<T>, "namespace" | "sink"> & {
  /** Watch only these; empty for all. Ignored for cluster-scoped kinds. */
  namespaces: readonly string[];
  indexers?: Record<string, Indexer<T>>;
  /** Drops what nothing needs from an object before it is stored. */
  trim?: ((object: T) => void) | undefined;
  /** The object as it is stored. Default: as it is. */
  kept?: ((object: T) => T) | undefined;
};

/** A store kept equal to a kind by one reflector a namespace. managedFields never reach the store. */
export function createInformer<T extends KubeObject>(options: InformerOptions<T>): Informer<T> {
  const { resource } = options;
  const store = createStore<T>(options.indexers, options.trim, options.kept);
  const handlers: ((change: Change<T>) => void)[] = [];
  const namespaces = resource.namespaced && options.namespaces.length > 0 ? options.namespaces : [undefined];
  const pending = new Set<string | undefined>(namespaces);
  let runs: Promise<void>[] = [];

  const emit = (change: Change<T> | undefined) => {
    if (change !== undefined) for (const handler of handlers) handler(change);
  };

  return {
    resource,
    store,
    onChange: (handler) => void handlers.push(handler),
    synced: () => pending.size === 0,
    stopped: async () => void (await Promise.all(runs)),
    start(signal) {
      return new Promise((resolve) => {
        runs = namespaces.map((namespace) =>
          runReflector<T>(
            {
              ...options,
              namespace,
              sink: {
                listed(object) {
                  emit(store.upsert(compact(object), pending.has(namespace)));
                  const { uid, resourceVersion } = store.get(keyOf(object))?.metadata ?? {};
                  return uid === object.metadata.uid ? resourceVersion : undefined;
                },
                listEnded: (keys) => {
                  // Another namespace's objects are not this list's to judge.
                  const others = new Set(keys);
                  if (namespace !== undefined) {
                    const prefix = `${namespace}/`;
                    for (const object of store.list()) {
                      const key = `${object.metadata.namespace}/${object.metadata.name}`;
                      if (!key.startsWith(prefix)) others.add(key);
                    }
                  }
                  for (const change of store.removeAbsent(others)) emit(change);
                  pending.delete(namespace);
                  if (pending.size === 0) resolve();
                },
                has(metadata) {
                  const stored = store.get(keyOf({ metadata }))?.metadata;
                  const isNewer = isLaterVersion(metadata.resourceVersion, stored?.resourceVersion);
                  return stored?.uid === metadata.uid && !isNewer;
                },
                changed: (type, object) =>
                  emit(type === "DELETED" ? store.remove(compact(object)) : store.upsert(compact(object))),
              },
            },
            signal,
          ),
        );
        void Promise.all(runs).then(() => resolve());
      });
    },
  };
}

const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** Drops what nothing here reads and what would double the memory of each object. */
export function compact<T extends KubeObject>(object: T): T {
  delete object.metadata.managedFields;
  if (object.metadata.annotations !== undefined) delete object.metadata.annotations[LAST_APPLIED];
  return object;
}
