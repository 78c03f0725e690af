import type { Logger } from "pino";
import type { Clock } from "../clock.ts";
import type { KubeClient, Query } from "../kube/client.ts";
import type { Resource } from "../kube/resource.ts";
import type { KubeObject } from "../kube/types.ts";
import { type RestoredError, runReflector } from "./reflector.ts";
import { type Change, createStore, type Indexer, type Store } from "./store.ts";

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

export type InformerOptions<T extends KubeObject> = {
  client: KubeClient;
  resource: Resource;
  /** Watch only these; empty for all. Ignored for cluster-scoped kinds. */
  namespaces: readonly string[];
  /** `labelSelector`, `fieldSelector`: what does not match is not seen; what stops matching is seen as deleted. */
  selector?: Query;
  indexers?: Record<string, Indexer<T>>;
  /** Drops what nothing needs from an object before it is stored. */
  trim?: ((object: T) => void) | undefined;
  clock: Clock;
  random: () => number;
  log: Logger;
  /** A list went back in time (reflector.ts): what the store holds is wrong from then on. */
  onRestored?: ((error: RestoredError) => void) | undefined;
};

/** A store kept equal to a kind by one reflector a namespace. managedFields never reach the store. */
export function createInformer<T extends KubeObject>(options: InformerOptions<T>): Informer<T> {
  const { resource } = options;
  const store = createStore<T>(options.indexers, options.trim);
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
                listed: (object) => emit(store.upsert(compact(object), pending.has(namespace))),
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
