import { isDeepStrictEqual } from "node:util";
import { type Json, objectAt, textAt } from "./json.ts";

export type StoredEvent = { version: number; type: "ADDED" | "MODIFIED" | "DELETED"; object: Json };

export type Collection = {
  /** By `namespace/name`, or `name` for a cluster-scoped kind. */
  objects: Map<string, Json>;
  /** Oldest first; what is older than `compactedTo` is gone. */
  history: StoredEvent[];
  compactedTo: number;
};

/** An earlier state of a storage. */
export type Snapshot = { version: number; objectsOf(id: string): ReadonlyMap<string, Json> };

/** etcd: objects with versions from one counter, and their history until it is compacted. */
export type Storage = {
  version(): number;
  collection(id: string): Collection;
  get(id: string, key: string): Json | undefined;
  /** Stores an object under the next version. An equal object is not written, unless `always`. Returns what is stored. */
  put(id: string, key: string, object: Json, always?: boolean): Json;
  remove(id: string, key: string, object: Json): Json;
  /** The objects as they are now, for reads at a later time. */
  snapshot(): Snapshot;
  /** Goes back to a snapshot, without an event. `bump`: raises the version by so much; default 0. */
  restore(snapshot: Snapshot, bump?: number): void;
  onRestore(listener: () => void): void;
  /** Forgets the history up to now. */
  compact(): void;
  /** Called for each event, at once. */
  onEvent(listener: (id: string, event: StoredEvent) => void): () => void;
};

export function createStorage(firstVersion = 1): Storage {
  const collections = new Map<string, Collection>();
  const listeners = new Set<(id: string, event: StoredEvent) => void>();
  const restoreListeners: (() => void)[] = [];
  let version = firstVersion;

  function collection(id: string): Collection {
    const known = collections.get(id) ?? { objects: new Map(), history: [], compactedTo: version };
    collections.set(id, known);
    return known;
  }

  function record(id: string, type: StoredEvent["type"], object: Json): Json {
    version += 1;
    // As API servers write objects, so that a client can read a line of a watch without parsing it: fields by name.
    const { apiVersion, kind, metadata: _metadata, ...content } = object;
    const { name, namespace, uid, resourceVersion: _version, ...metadata } = objectAt(object, "metadata");
    const place = namespace === undefined ? { name } : { name, namespace };
    const last = { ...metadata, ...place, resourceVersion: String(version), uid };
    const stored = { apiVersion, kind, metadata: last, ...content } as Json;
    const event: StoredEvent = { version, type, object: stored };
    collection(id).history.push(event);
    for (const listener of [...listeners]) listener(id, event);
    return stored;
  }

  return {
    version: () => version,
    collection,
    get: (id, key) => collection(id).objects.get(key),
    put(id, key, object, always = false) {
      const { objects } = collection(id);
      const present = objects.get(key);
      const isEqual = present !== undefined && isDeepStrictEqual(withoutVersion(present), withoutVersion(object));
      if (isEqual && !always) return present;
      const stored = record(id, present === undefined ? "ADDED" : "MODIFIED", object);
      objects.set(key, stored);
      return stored;
    },
    remove(id, key, object) {
      collection(id).objects.delete(key);
      return record(id, "DELETED", object);
    },
    snapshot() {
      const kept = new Map([...collections].map(([id, { objects }]) => [id, new Map(objects)]));
      return { version, objectsOf: (id) => kept.get(id) ?? new Map() };
    },
    restore(snapshot, bump = 0) {
      version = snapshot.version + bump;
      for (const [id, one] of collections) {
        one.objects = new Map(snapshot.objectsOf(id));
        one.history = [];
        one.compactedTo = version;
      }
      for (const listener of restoreListeners) listener();
    },
    onRestore: (listener) => void restoreListeners.push(listener),
    compact() {
      for (const one of collections.values()) {
        one.history = [];
        one.compactedTo = version;
      }
    },
    onEvent(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

function withoutVersion(object: Json): Json {
  const { resourceVersion: _version, ...metadata } = objectAt(object, "metadata");
  return { ...object, metadata };
}

export function versionOf(object: Json): number {
  return Number(textAt(object["metadata"], "resourceVersion") ?? 0);
}
