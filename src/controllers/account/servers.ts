import type { Logger } from "pino";
import { isClusterAccount } from "../../api/v1alpha1/account.ts";
import { type Clock, stopwatch } from "../../base/clock.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { Members } from "../../runtime/members.ts";
import type { EventRecorder } from "../../runtime/recorder.ts";
import { compact } from "../../runtime/store.ts";
import { createContests } from "./contests.ts";
import {
  type AnyAccount,
  createOtherServers,
  type FreeReason,
  type Observed,
  type ServeRequest,
  type Server,
} from "./other-servers.ts";
import type { ProcessEnds } from "./process-ends.ts";
import { type AccountKey, keyOfAccount } from "./registry.ts";
import { createReleases, type Releases } from "./releases.ts";
import { type AccountPlace, createServerEntry } from "./server-entry.ts";
import { type AccountWork, createTerms, type Lists, type Term, unserved } from "./terms.ts";
import { createTurns } from "./turns.ts";

export type Served<T> =
  /** This process serves the account: its status says so. `term` is another number each time that this begins. */
  | { kind: "Ours"; object: T; term: number }
  /**
   * Nobody serves the ClusterAccount, no object needs it, and this process probes it. `server`: what the status names, or is to name. An
   * account whose status names nobody counts as one whose entry somebody removed.
   */
  | { kind: "Unneeded"; object: T; term: 0; server: Server }
  /** Another process serves the account, or may do so. `message`: what to do, when an object here needs the account. */
  | { kind: "Other"; message?: string | undefined; againMs: number }
  /** This process has lists that are too old, or releases the account: what runs for it goes on, and nothing else begins. */
  | { kind: "Between"; againMs: number };

/**
 * Which accounts this process serves. Everything that must be single is single per account (rate limit, list of endpoints, budget), so one
 * process serves an account, and others serve others.
 *
 * # Expected flow
 * 1. An account's reconcile calls `serve` before anything else. A free account is taken by the ready process that serves the fewest; each
 *    process that serves more waits 2 s longer. `status.server` then names the lease of this process.
 * 2. `confirm` is awaited, and `assertConfirmed` is called right before a paid request is sent; `assertServing` before any other.
 * 3. `release` at a stop, and `giveUp` for a process that serves fewer, end this.
 *
 * # Guarantees
 * - One process at a time serves an account: `status.server` is written with the object's version as the lock, and only when its former
 *   server released it or has ended (process-ends.ts).
 * - A term begins when the process has lists of all objects that began after nobody else could change anything. Nothing is sent before.
 * - An entry that somebody removed counts for another 15 s. Its server reads the account at least every 5 s while it sends, and sends
 *   nothing that costs something 10 s after it last saw that it serves the account.
 * - `onLost` is called when another process serves an account that this one serves. The process must end.
 */
export type Servers = Pick<Releases, "giveUp" | "release"> & {
  /** @throws KubeError 409 when the account changed meanwhile */
  serve<T extends AnyAccount>(key: AccountKey, request: ServeRequest<T>, signal: AbortSignal): Promise<Served<T>>;
  /**
   * Whether this process serves the account, which an object needs. If nobody does, the account is reconciled and served.
   * Every installation sees each ClusterAccount, so one is served only for such an object. An Account is always served.
   */
  requires(key: AccountKey): boolean;
  /** Whether this process serves the account. */
  serves(key: AccountKey): boolean;
  /** The same, or it is about to: its lists are not there yet. */
  holds(key: AccountKey): boolean;
  /** Whether no other process served the account when this one looked last. */
  isFree(key: AccountKey): boolean;
  /** Whether another installation serves the account, as far as this process knows. */
  isElsewhere(key: AccountKey): boolean;
  /** Whether another installation serves the account and does not watch this namespace: its objects are not its concern. */
  isUnwatchedElsewhere(key: AccountKey, namespace: string): boolean;
  /** Reads the account unless it was read a moment ago. @throws Error unless this process serves it */
  confirm(key: AccountKey, signal: AbortSignal): Promise<void>;
  /** @throws Error unless this process surely serves the account, and has seen so a moment ago */
  assertConfirmed(key: AccountKey): void;
  /** @throws Error unless this process surely serves the account, probes it for nobody, or cleans up after it */
  assertServing(key: AccountKey): void;
  /** The account is deleted. If this process served it, it may clean up what the account's objects have at the service. */
  depart(key: AccountKey): void;
  /** Whether the account was deleted while this process served it, and objects of it may be left. */
  cleansUp(key: AccountKey): boolean;
  /** Nothing is left of a deleted account. */
  forget(key: AccountKey): void;
  /** Called when this process begins or ends to serve an account. */
  onChange(listener: (key: AccountKey) => void): void;
  /** Looks at all accounts before the lists of other objects begin, which show then everything of a free account. */
  observeAll(): void;
  /** How many accounts this process serves. */
  count(): number;
  /** The process stops: nothing is sent any more, and no account is taken. */
  stop(): void;
  /** @throws Error that names the accounts that this installation needs and another one serves */
  assertUncontested(): void;
};

export type ServersOptions = {
  kube: KubeClient;
  clock: Clock;
  log: Pick<Logger, "error" | "warn" | "info">;
  recorder: Pick<EventRecorder, "warning">;
  /** Namespace of the leases. */
  installation: string;
  members: Pick<Members, "name" | "surelyHeld" | "isReady" | "isFirst" | "list">;
  ends: ProcessEnds;
  /** The namespaces that this installation watches; empty for all. */
  watchNamespaces: readonly string[];
  /** Every account of the cluster. */
  accounts: () => Iterable<AnyAccount>;
  /** Whether an object that this installation watches belongs to the account. */
  isNeeded: (key: AccountKey) => boolean;
  lists: Lists;
  work: AccountWork;
  onLost: (error: Error) => void;
  onTaken?: (reason: FreeReason) => void;
  /** Reconciles the account. */
  check: (key: AccountKey) => void;
};

/** How often an account is looked at that another process serves, or that is free. */
const LOOK_MS = 1_000;
const FREE_MS = 250;

export function createServers(options: ServersOptions): Servers {
  const { kube, clock, log, members, lists } = options;
  /** Accounts that objects need. */
  const required = new Set<AccountKey>();
  /** ClusterAccounts that nobody needs and this process probes. */
  const probed = new Set<AccountKey>();
  /** Deleted accounts that this process served. */
  const departed = new Set<AccountKey>();
  /** Free accounts that this process is writing its name to. */
  const taking = new Set<AccountKey>();
  const listeners: ((key: AccountKey) => void)[] = [];
  let stopping = false;

  function changed(key: AccountKey): void {
    for (const listener of listeners) listener(key);
    options.check(key);
  }

  function lost(key: AccountKey, { namespace, lease, released }: Server): Error {
    const what = released === undefined ? `${namespace}/${lease} serves ${key}` : `somebody released ${key}`;
    const error = new Error(`${what}, which this process served`);
    options.onLost(error);
    return error;
  }

  const entry = createServerEntry(options);
  const others = createOtherServers(options);
  const contests = createContests(options);
  const terms = createTerms({ ...options, entry, onBegin: changed, lost });
  const turns = createTurns({ ...options, count: () => terms.count() + taking.size });
  const serves = (key: AccountKey) => terms.get(key)?.begun === true && !releases.isLeaving(key) && !stopping;
  const releases = createReleases({ ...options, entry, terms, turns, serves, changed });

  function placeOf<T extends AnyAccount>({ kind: { resource, store }, object }: ServeRequest<T>): AccountPlace {
    const { namespace, name, uid } = object.metadata;
    const place = { namespace, name };
    return {
      ...{ resource, place, uid },
      async patchStatus(body, signal) {
        store.observeWrite(
          compact(await kube.mergePatch<T>(resource, { ...place, subresource: "status" }, body, { signal })),
        );
      },
    };
  }

  function begin<T extends AnyAccount>(
    key: AccountKey,
    request: ServeRequest<T>,
    age: () => number,
    isFresh: boolean,
  ): Term {
    others.forget(key);
    probed.delete(key);
    return terms.begin(key, { ...placeOf(request), age }, isFresh);
  }

  async function take<T extends AnyAccount>(
    key: AccountKey,
    request: ServeRequest<T>,
    free: Extract<Observed, { kind: "Free" }>,
    signal: AbortSignal,
  ): Promise<Served<T>> {
    const { former: from } = free;
    if (!turns.mayTake(free.sinceMs, from)) return { kind: "Other", againMs: FREE_MS };
    taking.add(key);
    try {
      const { object, age } = await entry.write(request, signal);
      log.info({ account: key, reason: free.reason, from }, "this process serves the account");
      options.onTaken?.(free.reason);
      const term = begin(key, request, age, lists.begunAt() >= free.sinceMs);
      // `release` did not know of it.
      if (stopping) await entry.release(term, signal);
      return ours(object, term);
    } finally {
      taking.delete(key);
    }
  }

  async function serveHeld<T extends AnyAccount>(
    key: AccountKey,
    term: Term,
    request: ServeRequest<T>,
    signal: AbortSignal,
  ): Promise<Served<T>> {
    const { server } = request.object.status ?? {};
    if (server === undefined) {
      const { object, age } = await entry.write(request, signal); // somebody removed it
      term.age = age;
      return ours(object, term);
    }
    if (!entry.isSelf(server) || server.released !== undefined) throw lost(key, server);
    return ours(request.object, term);
  }

  /** This process does not serve the account. */
  async function look<T extends AnyAccount>(
    key: AccountKey,
    request: ServeRequest<T>,
    signal: AbortSignal,
  ): Promise<Served<T>> {
    const { object } = request;
    const wanted = !isClusterAccount(object) || required.has(key);
    const other = await others.observe(key, object, signal);
    if (other.kind === "Served" && others.hasForeign(key) && wanted) {
      await contests.show<T>(key, request, other.server, signal);
    } else contests.forget(key);
    if (other.kind !== "Free") return { kind: "Other", message: contests.messageOf(key), againMs: LOOK_MS };
    if (wanted) return take(key, request, other, signal);
    if (!members.isFirst()) return { kind: "Other", againMs: LOOK_MS };
    probed.add(key);
    const server = object.status?.server ?? entry.probedOnly();
    others.leave(key, server);
    return { kind: "Unneeded", object, term: 0, server };
  }

  function assertServing(key: AccountKey): void {
    if (!members.surelyHeld() || !(serves(key) || probed.has(key) || departed.has(key))) throw unserved(key);
  }

  function forget(key: AccountKey): void {
    terms.end(key);
    for (const keys of [required, probed, departed]) keys.delete(key);
    others.forget(key);
    contests.forget(key);
  }

  return {
    async serve(key, request, signal) {
      const { object } = request;
      // At a start, before any object that needs it is reconciled.
      if (!required.has(key) && isClusterAccount(object) && options.isNeeded(key)) required.add(key);
      if (stopping || releases.isLeaving(key)) return { kind: "Between", againMs: LOOK_MS };
      departed.delete(key);
      const term = terms.get(key);
      if (term?.uid === object.metadata.uid) return serveHeld(key, term, request, signal);
      terms.end(key);
      probed.delete(key);
      const { server } = object.status ?? {};
      // The response to the write was lost, or the account could not be released.
      const isLeft = entry.isSelf(server) && server?.released === undefined;
      return isLeft ? ours(object, begin(key, request, stopwatch(clock), false)) : look(key, request, signal);
    },
    serves,
    holds: (key) => terms.get(key) !== undefined,
    isFree: (key) => terms.get(key) === undefined && others.isFree(key),
    isElsewhere: others.hasForeign,
    isUnwatchedElsewhere: others.hasUnwatched,
    requires(key) {
      if (!required.has(key)) {
        required.add(key);
        if (terms.get(key) === undefined && !others.hasForeign(key)) options.check(key);
      }
      return serves(key);
    },
    async confirm(key, signal) {
      if (!serves(key)) throw unserved(key);
      await terms.confirm(key, signal);
    },
    assertServing,
    assertConfirmed(key) {
      assertServing(key);
      if (!terms.isConfirmed(key)) throw unserved(key);
    },
    depart(key) {
      const served = serves(key) || departed.has(key);
      forget(key);
      if (served) departed.add(key);
    },
    cleansUp: (key) => departed.has(key),
    forget,
    onChange: (listener) => void listeners.push(listener),
    observeAll() {
      for (const account of options.accounts()) others.note(keyOfAccount(account), account);
    },
    count: terms.count,
    giveUp: releases.giveUp,
    stop() {
      stopping = true;
    },
    release: releases.release,
    assertUncontested: contests.assertNone,
  };
}

const ours = <T>(object: T, { begun, number }: Term): Served<T> =>
  begun ? { kind: "Ours", object, term: number } : { kind: "Between", againMs: LOOK_MS };
