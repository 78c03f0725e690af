import type { Account, AccountStatus, ClusterAccount } from "../../api/v1alpha1/account.ts";
import type { Clock } from "../../base/clock.ts";
import { findObject, type KubeClient } from "../../kube/client.ts";
import { type Lease, leaseResource } from "../../runtime/lease.ts";
import type { Kind } from "../controller-deps.ts";
import type { AccountKey } from "./registry.ts";

export type AnyAccount = Account | ClusterAccount;
export type Server = NonNullable<AccountStatus["server"]>;
export type ServeRequest<T extends AnyAccount> = { kind: Kind<T>; object: T };

/** A lease that nobody renewed for this long has ended. Its holder sends nothing 10 s after its last renewal. */
export const LEASE_ENDED_MS = 30_000;
/** Accounts with the same server share a read of its lease. */
const READ_AGAIN_MS = 2_000;
/** A lease, or an entry, that is missing for this long has ended. Its server sends nothing after 10 s. */
const MISSING_MS = 15_000;

/** The servers of other installations, as far as this process knows. */
export type OtherServers = {
  /**
   * The other installation that serves an account. `Removed`: somebody removed the entry a moment ago, and its server may not know.
   * @param account `Ours`: this process serves it
   */
  observe(key: AccountKey, account: AnyAccount | "Ours", signal: AbortSignal): Promise<Server | "Removed" | undefined>;
  /** Whether another installation serves the account. */
  has(key: AccountKey): boolean;
  /** Whether another installation serves the account and does not watch this namespace. */
  hasUnwatched(key: AccountKey, namespace: string): boolean;
  forget(key: AccountKey): void;
};

type OtherServersOptions = {
  kube: Pick<KubeClient, "get">;
  clock: Clock;
  /** Namespace of the own lease. */
  installation: string;
};

/**
 * A server lives as long as its lease. The lease is read by each look at an account, and its end is judged by when this process saw it
 * change, never by another's clock. Without the right to read the lease, it lives until an administrator removes the entry.
 */
export function createOtherServers({ kube, clock, installation }: OtherServersOptions): OtherServers {
  const known = new Map<AccountKey, Server | "Removed">();
  /** `at`: when this process first saw the version, monotonic ms. Of a missing lease or entry, there is none. */
  const seen = new Map<string, { version: string | undefined; at: number }>();
  /** Whether a lease has ended, by the last read of it. */
  const reads = new Map<string, { at: number; ended: Promise<boolean> }>();

  /** How long this version has been seen, ms. */
  function lasting(what: string, version: string | undefined): number {
    const before = seen.get(what);
    if (before === undefined || before.version !== version) seen.set(what, { version, at: clock.monotonic() });
    return clock.monotonic() - (seen.get(what)?.at ?? 0);
  }

  function hasEnded(server: Server, signal: AbortSignal): Promise<boolean> {
    const { namespace, lease: name, leaseUID } = server;
    if (name === undefined) return Promise.resolve(false);
    const what = `${namespace}/${name}/${leaseUID}`;
    const last = reads.get(what);
    if (last !== undefined && clock.monotonic() < last.at + READ_AGAIN_MS) return last.ended;
    const ended = readEnd(what, { namespace, name, leaseUID }, signal);
    reads.set(what, { at: clock.monotonic(), ended });
    return ended;
  }

  async function readEnd(
    what: string,
    { namespace, name, leaseUID }: { namespace: string; name: string; leaseUID: string | undefined },
    signal: AbortSignal,
  ): Promise<boolean> {
    try {
      const lease = await findObject<Lease>(kube, leaseResource, { namespace, name }, { signal });
      if (lease === undefined || lease.metadata.uid !== leaseUID) return lasting(what, undefined) >= MISSING_MS;
      if ((lease.spec.holderIdentity ?? "") === "") return true;
      return lasting(what, lease.metadata.resourceVersion) >= LEASE_ENDED_MS;
    } catch {
      seen.delete(what);
      return false;
    }
  }

  async function otherOf(key: AccountKey, account: AnyAccount, signal: AbortSignal) {
    const { server, observedGeneration } = account.status ?? {};
    if (server === undefined) {
      const isNew = observedGeneration === undefined;
      return !isNew && lasting(key, account.metadata.uid) < MISSING_MS ? "Removed" : undefined;
    }
    seen.delete(key);
    return server.namespace === installation || (await hasEnded(server, signal)) ? undefined : server;
  }

  return {
    has: (key) => known.has(key),
    async observe(key, account, signal) {
      const other = account === "Ours" ? undefined : await otherOf(key, account, signal);
      if (other === undefined) known.delete(key);
      else known.set(key, other);
      return other;
    },
    hasUnwatched(key, namespace) {
      const other = known.get(key);
      if (other === undefined || other === "Removed") return false;
      return other.namespaces !== undefined && !other.namespaces.includes(namespace);
    },
    forget(key) {
      known.delete(key);
      seen.delete(key);
    },
  };
}

/** Whether two entries name the same server. */
export function isSameServer(a: Server, b: Server): boolean {
  return JSON.stringify(factsOf(a)) === JSON.stringify(factsOf(b));
}

const factsOf = ({ namespace, lease, leaseUID, namespaces }: Server) => [namespace, lease, leaseUID, namespaces];
