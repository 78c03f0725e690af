import type { Logger } from "pino";
import { KINDS } from "../api/v1alpha1/kinds.ts";
import { type Clock, delay, rfc3339 } from "../base/clock.ts";
import type { KubeClient, KubeRequest } from "../kube/client.ts";
import { isForbidden, isNotFound, KubeError } from "../kube/errors.ts";
import type { Resource } from "../kube/resource.ts";
import { keyOf } from "../kube/types.ts";
import { createInformer, type Informer } from "../runtime/informer.ts";
import { type ListEntry, listEntry } from "./list-query.ts";
import { rowOf } from "./row.ts";
import type { UiObject } from "./ui-object.ts";
import type { KindState } from "./view-types.ts";

/** An object with its kind. */
export type Found = { resource: Resource; object: UiObject };

/** `KIND/NAMESPACE/NAME`; the namespace of a cluster-scoped object is empty. */
export type ObjectName = { kind: string; namespace: string; name: string };

/** The cluster as one user sees it, kept up to date by watches with the user's own permissions. */
export type ClusterSession = {
  readonly client: KubeClient;
  entries(): Iterable<ListEntry>;
  find(key: ObjectName): Found | undefined;
  objects(kind: string): UiObject[];
  kinds(): KindState[];
  /** Whether the first lists of all permitted kinds are complete. */
  synced(): boolean;
  /** Since when lists and watches fail, RFC 3339. Undefined: the cluster responds. */
  disconnectedSince(): string | undefined;
  /** Calls `listener` after each change of an object, and without one after a change of kinds or of the connection. */
  subscribe(listener: (changed: ObjectName | undefined) => void): () => void;
  /** Whether somebody is subscribed. */
  watched(): boolean;
  /** Ends watches and connections. */
  close(): Promise<void>;
};

export type ClusterSessionOptions = {
  /** Opens the connection of the user; `onRequest` must be told of each request. */
  connect(onRequest: (request: KubeRequest) => void): KubeClient;
  /** Empty: all. */
  namespaces: readonly string[];
  clock: Clock;
  random: () => number;
  log: Logger;
};

/** How often the user's permissions are read again: a permission that was taken away hides the objects within it. */
const PERMISSIONS_MS = 30_000;

type Watch = { resource: Resource; problem: string | undefined; running?: RunningWatch };
/** `scope`: the permitted namespaces, joined. */
type RunningWatch = { informer: Informer<UiObject>; ending: AbortController; scope: string };

export function createClusterSession(options: ClusterSessionOptions): ClusterSession {
  const { clock } = options;
  const closing = new AbortController();
  const listeners = new Set<(changed: ObjectName | undefined) => void>();
  const entries = new WeakMap<UiObject, ListEntry>();
  let failingSince: number | undefined;
  let checked = false;

  const client = options.connect(({ verb, status }) => {
    if (verb !== "list" && verb !== "watch") return;
    // A refusal is an answer: the cluster responds.
    const failing = status === 0 || status >= 500;
    if (failing === (failingSince !== undefined)) return;
    failingSince = failing ? clock.now() : undefined;
    notify();
  });

  function notify(changed?: ObjectName): void {
    for (const listener of listeners) listener(changed);
  }

  const { watches, check } = createWatches(client, { ...options, signal: closing.signal, notify });

  async function checkPeriodically(): Promise<void> {
    while (!closing.signal.aborted) {
      await Promise.all(watches.map(check));
      checked = true;
      await delay(clock, PERMISSIONS_MS, closing.signal);
    }
  }
  const checking = checkPeriodically();

  return {
    client,
    *entries() {
      for (const { resource, running } of watches) {
        for (const object of running?.informer.store.list() ?? []) {
          const entry = entries.get(object) ?? listEntry(rowOf(resource.kind, object), object);
          entries.set(object, entry);
          yield entry;
        }
      }
    },
    find({ kind, namespace, name }) {
      const watch = watches.find(({ resource }) => resource.kind === kind);
      const metadata = watch?.resource.namespaced ? { namespace, name } : { name };
      const object = watch?.running?.informer.store.get(keyOf({ metadata }));
      return watch === undefined || object === undefined ? undefined : { resource: watch.resource, object };
    },
    objects: (kind) => {
      const watch = watches.find(({ resource }) => resource.kind === kind);
      return [...(watch?.running?.informer.store.list() ?? [])];
    },
    kinds: () => watches.map(({ resource: { kind }, problem }) => ({ kind, problem })),
    synced: () => checked && watches.every(({ running }) => running?.informer.synced() ?? true),
    disconnectedSince: () => (failingSince === undefined ? undefined : rfc3339(failingSince)),
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    watched: () => listeners.size > 0,
    async close() {
      closing.abort();
      listeners.clear();
      const running = watches.flatMap((watch) => watch.running ?? []);
      for (const { ending } of running) ending.abort();
      await Promise.all([checking, ...running.map(({ informer }) => informer.stopped())]);
      await client.close();
    },
  };
}

type WatchesOptions = Omit<ClusterSessionOptions, "connect"> & {
  signal: AbortSignal;
  notify(changed?: ObjectName): void;
};

/** A watch of each kind that the user may list. `check`: reads the permission again, and watches accordingly. */
function createWatches(client: KubeClient, { namespaces, clock, random, log, signal, notify }: WatchesOptions) {
  const watches: Watch[] = KINDS.map(({ resource }) => ({ resource, problem: undefined }));

  function start(watch: Watch, permitted: readonly string[]): void {
    const { resource } = watch;
    const shared = { client, clock, random, log };
    const informer = createInformer<UiObject>({ ...shared, resource, namespaces: permitted });
    informer.onChange(({ object: { metadata } }) =>
      notify({ kind: resource.kind, namespace: metadata.namespace ?? "", name: metadata.name }),
    );
    const ending = new AbortController();
    watch.running = { informer, ending, scope: permitted.join() };
    void informer.start(ending.signal).then(() => notify());
  }

  function stop(watch: Watch): void {
    watch.running?.ending.abort();
    delete watch.running;
  }

  async function check(watch: Watch): Promise<void> {
    const permission = await permissionOf(client, watch.resource, namespaces, signal);
    if (signal.aborted || permission === undefined) return;
    const problem = "problem" in permission ? permission.problem : undefined;
    const scope = "namespaces" in permission ? permission.namespaces.join() : undefined;
    const changed = problem !== watch.problem || scope !== watch.running?.scope;
    watch.problem = problem;
    if (scope !== watch.running?.scope) stop(watch);
    if ("namespaces" in permission && watch.running === undefined) start(watch, permission.namespaces);
    if (changed) notify();
  }

  return { watches, check };
}

/** The namespaces in which the user may list the kind (empty: all), why there are none, or undefined: the cluster does not say. */
type Permission = { namespaces: string[] } | { problem: string } | undefined;

async function permissionOf(
  client: KubeClient,
  resource: Resource,
  namespaces: readonly string[],
  signal: AbortSignal,
): Promise<Permission> {
  const places = resource.namespaced && namespaces.length > 0 ? namespaces : [undefined];
  const permitted: string[] = [];
  let problem: string | undefined;
  for (const namespace of places) {
    try {
      await client.list(resource, { namespace }, { signal, query: { limit: 1 } });
      if (namespace !== undefined) permitted.push(namespace);
    } catch (error) {
      problem = problemOf(error, resource);
      if (problem === undefined) return undefined;
    }
  }
  return problem === undefined || permitted.length > 0 ? { namespaces: permitted } : { problem };
}

/** Undefined: an error that says nothing of permissions. */
function problemOf(error: unknown, { kind, plural }: Resource): string | undefined {
  if (isForbidden(error)) return `You may not list ${plural}`;
  if (isNotFound(error)) return `${kind} is not installed: run mooring apply`;
  if (error instanceof KubeError && error.status === 401) return "The cluster does not accept your credentials";
  return undefined;
}
