import type { Clock } from "../base/clock.ts";
import type { Resource } from "../kube/resource.ts";
import { isLaterVersion, type KubeObject, keyOf } from "../kube/types.ts";
import type { ReflectorOptions, ReflectorSink } from "./list-watch.ts";
import { runReflector } from "./reflector.ts";
import { type Change, compact, createStore, type Indexer, type Store } from "./store.ts";

export type Informer<T extends KubeObject> = {
  readonly resource: Resource;
  readonly store: Store<T>;
  /** Called for each change, in order; an initial list comes as `Added` with `initial`. */
  onChange(handler: (change: Change<T>) => void): void;
  /** Lists and watches until `signal` aborts; resolves once the first lists are complete. */
  start(signal: AbortSignal): Promise<void>;
  /** When the oldest of the present lists began, monotonic ms. What a watch has shown since then is newer. */
  listedAt(): number;
  /** Lists anew. Resolves when lists are complete that began after the call, or when the informer stops. */
  renew(): Promise<void>;
  synced(): boolean;
  /** Resolves when every watch has ended after the abort. */
  stopped(): Promise<void>;
};

export type InformerOptions<T extends KubeObject> = Omit<ReflectorOptions<T>, "namespace" | "sink"> & {
  /** Watch only these; empty for all. Ignored for cluster-scoped kinds. */
  namespaces: readonly string[];
  indexers?: Record<string, Indexer<T>>;
  /** Drops unused fields of an object before it is stored. */
  trim?: ((object: T) => void) | undefined;
  /** The object as it is stored. Default: as it is. */
  kept?: ((object: T) => T) | undefined;
  /** Whether an object replaces another one of the same version. Default: it does not. */
  replaces?: ((next: T, previous: T) => boolean) | undefined;
};

/** A store kept equal to a kind by one reflector a namespace. managedFields never reach the store. */
export function createInformer<T extends KubeObject>(options: InformerOptions<T>): Informer<T> {
  const { resource, clock } = options;
  const store = createStore<T>(options.indexers, options.trim, options.kept, options.replaces);
  const handlers: ((change: Change<T>) => void)[] = [];
  const namespaces = resource.namespaced && options.namespaces.length > 0 ? options.namespaces : [undefined];
  const lists = namespaces.map((namespace) => createListing(namespace, clock));
  const waiting: { call: number; resolve: () => void }[] = [];
  let calls = 0;
  let runs: Promise<void>[] = [];

  const emit = (change: Change<T> | undefined) => {
    if (change !== undefined) for (const handler of handlers) handler(change);
  };

  /** Resolves the calls of `renew` that all lists have followed. */
  function tellRenewed(served: number): void {
    for (const one of waiting.splice(0)) {
      if (one.call <= served) one.resolve();
      else waiting.push(one);
    }
  }

  function listEnded(listing: Listing, keys: ReadonlySet<string>): void {
    const { namespace } = listing;
    // This list says nothing about objects of other namespaces.
    const others = new Set(keys);
    if (namespace !== undefined) {
      const prefix = `${namespace}/`;
      for (const object of store.list()) {
        const key = `${object.metadata.namespace}/${object.metadata.name}`;
        if (!key.startsWith(prefix)) others.add(key);
      }
    }
    for (const change of store.removeAbsent(others)) emit(change);
    listing.end(calls);
    tellRenewed(Math.min(...lists.map((one) => one.served())));
  }

  const sinkOf = (listing: Listing): ReflectorSink<T> => ({
    listBegins: () => listing.begin(calls),
    listed(object) {
      emit(store.upsert(compact(object), !listing.isComplete()));
      const { uid, resourceVersion } = store.get(keyOf(object))?.metadata ?? {};
      return uid === object.metadata.uid ? resourceVersion : undefined;
    },
    listEnded: (keys) => listEnded(listing, keys),
    has(metadata) {
      const stored = store.get(keyOf({ metadata }))?.metadata;
      const isNewer = isLaterVersion(metadata.resourceVersion, stored?.resourceVersion);
      return stored?.uid === metadata.uid && !isNewer;
    },
    changed: (type, object) => emit(type === "DELETED" ? store.remove(compact(object)) : store.upsert(compact(object))),
  });

  return {
    resource,
    store,
    onChange: (handler) => void handlers.push(handler),
    synced: () => lists.every((one) => one.isComplete()),
    stopped: async () => void (await Promise.all(runs)),
    listedAt: () => Math.min(...lists.map((one) => one.listedAt())),
    renew() {
      calls++;
      for (const one of lists) one.renew();
      return new Promise((resolve) => waiting.push({ call: calls, resolve }));
    },
    async start(signal) {
      const first = this.renew();
      runs = lists.map((listing) => {
        const { namespace, renewal } = listing;
        return runReflector<T>({ ...options, namespace, renewal, sink: sinkOf(listing) }, signal);
      });
      const ended = Promise.all(runs).then(() => tellRenewed(Number.POSITIVE_INFINITY));
      await Promise.race([first, ended]);
    },
  };
}

type Listing = ReturnType<typeof createListing>;

/** How far the lists of one namespace are. Calls of `renew` are counted by the informer. */
function createListing(namespace: string | undefined, clock: Pick<Clock, "monotonic">) {
  /** `call`: how many calls there were when the list began. */
  let present: { call: number; at: number } | undefined;
  let complete: { call: number; at: number } | undefined;
  let renewal = new AbortController();

  function renew(): void {
    if (present !== undefined) return; // a list is under way: another one follows it
    renewal.abort();
    renewal = new AbortController();
  }

  return {
    namespace,
    renewal: () => renewal.signal,
    renew,
    begin(call: number): void {
      present = { call, at: clock.monotonic() };
    },
    end(calls: number): void {
      complete = present ?? complete;
      present = undefined;
      if (complete !== undefined && complete.call < calls) renew();
    },
    isComplete: () => complete !== undefined,
    /** The calls that the last complete list follows. */
    served: () => complete?.call ?? 0,
    listedAt: () => complete?.at ?? Number.NEGATIVE_INFINITY,
  };
}
