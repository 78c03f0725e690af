import type { Logger } from "pino";
import { type AccountStatus, isClusterAccount } from "../../api/v1alpha1/account.ts";
import { removeCondition } from "../../api/v1alpha1/conditions.ts";
import { type Clock, rfc3339, stopwatch } from "../../base/clock.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { Place, Resource } from "../../kube/resource.ts";
import type { EventRecorder } from "../../runtime/recorder.ts";
import { createContests } from "./contests.ts";
import { type AnyAccount, createOtherServers, isSameServer, type ServeRequest, type Server } from "./other-servers.ts";
import type { AccountKey } from "./registry.ts";

export type Served<T> =
  /** This installation serves the account. `object`: its status says so. */
  | { kind: "Ours"; object: T }
  /** Nobody serves the ClusterAccount, and no object that this installation watches needs it. */
  | { kind: "Unneeded"; object: T }
  /** Another installation serves the account, or may do so. `message`: what to do, when an object here needs the account. */
  | { kind: "Other"; message: string | undefined };

/**
 * Which accounts this installation serves. An installation is all operators with a lease in the same namespace. Two installations share
 * no lease, so nothing else keeps them from sending the same request.
 *
 * # Expected flow
 * 1. An account's reconcile calls `serve` before anything else. `status.server` names the lease of the operator that serves the account.
 * 2. `confirm` is awaited, and `assertServing` is called right before a paid request is sent.
 *
 * # Guarantees
 * - One installation at a time serves an account: `status.server` is written with the object's version as the lock.
 * - It stays until its lease has ended: there is nothing to renew. See other-servers.ts.
 * - A restarted operator of the same installation has its accounts at once.
 * - An entry that somebody removed counts for another 15 s. Its server reads the account at least every 5 s while it sends, and
 *   sends nothing 10 s after it last saw that it serves the account.
 * - `onLost` is called when another installation serves an account that this process served. The process must end.
 */
export type Servers = {
  /**
   * @param request.isNeeded whether an object that this installation watches needs the account
   * @throws KubeError 409 when the account changed meanwhile
   */
  serve<T extends AnyAccount>(
    key: AccountKey,
    request: ServeRequest<T> & { isNeeded: () => boolean },
    signal: AbortSignal,
  ): Promise<Served<T>>;
  /**
   * Whether this process serves the account, which an object needs. If nobody does, the account is reconciled and served.
   * Every installation sees each ClusterAccount, so one is served only for such an object. An Account is always served.
   */
  requires(key: AccountKey): boolean;
  /** Whether another installation serves the account, as far as this process knows. */
  isElsewhere(key: AccountKey): boolean;
  /** Whether another installation serves the account and does not watch this namespace: its objects are not its concern. */
  isUnwatchedElsewhere(key: AccountKey, namespace: string): boolean;
  /** Reads the account unless it was read a moment ago. @throws Error unless this installation serves it */
  confirm(key: AccountKey, signal: AbortSignal): Promise<void>;
  /** @throws Error unless this installation surely serves the account */
  assertServing(key: AccountKey): void;
  /** The account is deleted. */
  forget(key: AccountKey): void;
  /** Called when this process begins to serve an account. */
  onServed(listener: (key: AccountKey) => void): void;
  /** @throws Error that names the accounts that this installation needs and another one serves */
  assertUncontested(): void;
};

export type ServersOptions = {
  kube: KubeClient;
  clock: Clock;
  log: Pick<Logger, "error" | "warn">;
  recorder: Pick<EventRecorder, "warning">;
  /** Namespace of the lease. */
  installation: string;
  /** The lease of this process; undefined: it has none, and others cannot tell when it has ended. */
  lease: () => { name: string; uid: string } | undefined;
  /** The namespaces that this installation watches; empty for all. */
  watchNamespaces: readonly string[];
  onLost: (error: Error) => void;
  /** Reconciles the account. */
  check: (key: AccountKey) => void;
};

/** An account that this process serves. */
type ServedAccount = {
  resource: Resource;
  place: Place;
  /** Of the account object: one that is deleted and created again has no server. */
  uid: string;
  /** Ms since the begin of the last request that showed it. */
  age: () => number;
  reading?: Promise<void> | undefined;
};

/** The server reads the account again after this long, and sends nothing when it has not seen for so long that it serves it. */
const CONFIRM_MS = 5_000;
const CONFIRMED_MS = 10_000;
/** The status shows at most so many namespaces. */
const SHOWN_NAMESPACES = 256;

export function createServers(options: ServersOptions): Servers {
  const { kube, clock, log, installation, watchNamespaces } = options;
  const isShown = watchNamespaces.length > 0 && watchNamespaces.length <= SHOWN_NAMESPACES;
  const namespaces = isShown ? { namespaces: [...watchNamespaces] } : {};
  const held = new Map<AccountKey, ServedAccount>();
  const others = createOtherServers(options);
  const contests = createContests(options);
  /** Accounts that objects need. */
  const required = new Set<AccountKey>();
  const listeners: ((key: AccountKey) => void)[] = [];

  function self(since: string): Server {
    const lease = options.lease();
    const named = lease === undefined ? {} : { lease: lease.name, leaseUID: lease.uid };
    return { namespace: installation, ...named, ...namespaces, since };
  }

  function lose(key: AccountKey, { namespace }: Pick<Server, "namespace">): Error {
    const error = new Error(`the installation in namespace ${namespace} serves ${key}, which this one served`);
    options.onLost(error);
    return error;
  }

  async function take<T extends AnyAccount>(key: AccountKey, { kind, object }: ServeRequest<T>, signal: AbortSignal) {
    const age = stopwatch(clock); // counted from before the request
    const { conditions, ...status }: AccountStatus = object.status ?? { conditions: [] };
    const server = self(rfc3339(clock.now()));
    const next = { ...status, server, conditions: removeCondition(conditions, "Contested") };
    const taken = await kind.patchStatus(object, next, signal);
    const { namespace, name, uid } = object.metadata;
    held.set(key, { resource: kind.resource, place: { namespace, name }, uid, age });
    if (status.server !== undefined && status.server.namespace !== installation) {
      log.warn(
        { account: key, from: status.server.namespace },
        "the lease of another installation has ended; taken over",
      );
    }
    for (const listener of listeners) listener(key);
    return taken;
  }

  async function read(key: AccountKey, mine: ServedAccount, signal: AbortSignal): Promise<void> {
    const age = stopwatch(clock);
    const { namespace, name } = mine.place;
    const query = { fieldSelector: `metadata.name=${name}` };
    const { items } = await kube.list<AnyAccount>(mine.resource, { namespace }, { signal, query });
    const [found] = items.filter(({ metadata }) => metadata.uid === mine.uid);
    const { server } = found?.status ?? {};
    if (server !== undefined && server.namespace !== installation) throw lose(key, server);
    if (server === undefined) throw unserved(key);
    mine.age = age;
  }

  return {
    async serve(key, { isNeeded, ...request }, signal) {
      const { object } = request;
      // At a start, before any object that needs it is reconciled.
      if (!required.has(key) && isClusterAccount(object) && isNeeded()) required.add(key);
      const wanted = !isClusterAccount(object) || required.has(key);
      const { server } = object.status ?? {};
      const mine = held.get(key)?.uid === object.metadata.uid;
      if (!mine) held.delete(key);
      const other = await others.observe(key, mine && server === undefined ? "Ours" : object, signal);
      if (other !== undefined && other !== "Removed" && mine) throw lose(key, other);
      if (other !== undefined) {
        if (wanted && other !== "Removed") await contests.show<typeof object>(key, request, other, signal);
        else contests.forget(key);
        return { kind: "Other", message: contests.messageOf(key) };
      }
      contests.forget(key);
      if (mine && server !== undefined && isSameServer(server, self(server.since))) return { kind: "Ours", object };
      if (!wanted) return { kind: "Unneeded", object };
      return { kind: "Ours", object: await take(key, request, signal) };
    },
    isElsewhere: others.has,
    isUnwatchedElsewhere: others.hasUnwatched,
    requires(key) {
      required.add(key);
      if (held.has(key)) return true;
      if (!others.has(key)) options.check(key);
      return false;
    },
    async confirm(key, signal) {
      const mine = held.get(key);
      if (mine === undefined) throw unserved(key);
      if (mine.age() < CONFIRM_MS) return;
      mine.reading ??= read(key, mine, signal).finally(() => {
        mine.reading = undefined;
      });
      await mine.reading;
    },
    assertServing(key) {
      const mine = held.get(key);
      if (mine === undefined || mine.age() >= CONFIRMED_MS) throw unserved(key);
    },
    forget(key) {
      held.delete(key);
      required.delete(key);
      others.forget(key);
      contests.forget(key);
    },
    onServed: (listener) => void listeners.push(listener),
    assertUncontested: contests.assertNone,
  };
}

function unserved(key: AccountKey): Error {
  return new Error(`status.server of ${key} does not surely name this installation: nothing is sent`);
}
