import { type Account, type AccountStatus, type ClusterAccount, isProbedOnly } from "../../api/v1alpha1/account.ts";
import { FINALIZER } from "../../api/v1alpha1/meta.ts";
import type { Clock } from "../../base/clock.ts";
import { LEASE_MS } from "../../runtime/lease.ts";
import type { Kind } from "../controller-deps.ts";
import { type ProcessEnds, senderOf } from "./process-ends.ts";
import type { AccountKey } from "./registry.ts";

export type AnyAccount = Account | ClusterAccount;
export type Server = NonNullable<AccountStatus["server"]>;
export type ServeRequest<T extends AnyAccount> = { kind: Kind<T>; object: T };

/** Why an account has no server. `Removed`: somebody removed the entry. */
export type FreeReason = "New" | "Released" | "Ended" | "Removed";
export type Observed =
  | { kind: "Served"; server: Server }
  /** Somebody removed the entry a moment ago, and its server may not know. */
  | { kind: "Waits" }
  /**
   * `former`: its last server, which does not want it. `sinceMs`: monotonic, when this process first saw it so. Nobody has served it since
   * then.
   */
  | { kind: "Free"; reason: FreeReason; former: string | undefined; sinceMs: number };

/** Who serves the accounts that this process does not serve. */
export type OtherServers = {
  observe(key: AccountKey, account: AnyAccount, signal: AbortSignal): Promise<Observed>;
  /** Notes whether the account is free, as far as this process knows without a read. */
  note(key: AccountKey, account: AnyAccount): void;
  /**
   * This process is about to give a free account an entry that says so. The write has the account's version as the lock, so an account that
   * shows the entry has been free all the time.
   */
  leave(key: AccountKey, entry: Server): void;
  /** This process serves the account. */
  forget(key: AccountKey): void;
  /** Whether no other process served the account when this one looked last. */
  isFree(key: AccountKey): boolean;
  /** Whether another installation serves the account, as far as this process knows. */
  hasForeign(key: AccountKey): boolean;
  /** Whether another installation serves the account and does not watch this namespace. */
  hasUnwatched(key: AccountKey, namespace: string): boolean;
};

/** An entry, and since when this process has seen it, and seen it free; monotonic ms. `left`: the entry that it writes next. */
type SeenEntry = { uid: string; entry: string; at: number; freeAt: number | undefined; left?: string | undefined };

type OtherServersOptions = { ends: ProcessEnds; clock: Pick<Clock, "monotonic">; installation: string };

/** An account is bound to its server until the server releases it or its process has ended. */
export function createOtherServers({ ends, clock, installation }: OtherServersOptions): OtherServers {
  const foreign = new Map<AccountKey, Server>();
  const seen = new Map<AccountKey, SeenEntry>();

  function seenOf(key: AccountKey, { metadata: { uid }, status }: AnyAccount): SeenEntry {
    const entry = textOf(status?.server);
    const known = seen.get(key);
    if (known?.uid === uid && known.entry === entry) return known;
    const isLeft = known?.uid === uid && known.left === entry;
    const now = isLeft
      ? { ...known, entry, left: undefined }
      : { uid, entry, at: clock.monotonic(), freeAt: undefined };
    seen.set(key, now);
    return now;
  }

  function judge(known: SeenEntry, account: AnyAccount, hasEnded: boolean): Observed {
    const { server } = account.status ?? {};
    if (server !== undefined && server.released === undefined && !hasEnded) return { kind: "Served", server };
    const isOld = clock.monotonic() - known.at >= LEASE_MS;
    if (server === undefined && !isNew(account) && !isOld) return { kind: "Waits" };
    known.freeAt ??= clock.monotonic();
    const reason = reasonOf(account);
    const former = reason === "New" ? undefined : server?.lease;
    return { kind: "Free", reason, former, sinceMs: known.freeAt };
  }

  return {
    note(key, account) {
      const { server } = account.status ?? {};
      const known = seenOf(key, account);
      const hasEnded = server !== undefined && ends.hasSenderEnded(senderOf(server));
      if (server === undefined || server.namespace === installation) judge(known, account, hasEnded);
    },
    async observe(key, account, signal) {
      const { server } = account.status ?? {};
      const known = seenOf(key, account);
      const isHeld = server !== undefined && server.released === undefined;
      const observed = judge(known, account, isHeld && (await ends.hasEnded(server, signal)));
      if (observed.kind === "Served" && observed.server.namespace !== installation) foreign.set(key, observed.server);
      else foreign.delete(key);
      return observed;
    },
    leave(key, entry) {
      const known = seen.get(key);
      if (known?.freeAt !== undefined) known.left = textOf(entry);
    },
    forget(key) {
      seen.delete(key);
      foreign.delete(key);
    },
    isFree(key) {
      const known = seen.get(key);
      return known === undefined || known.freeAt !== undefined;
    },
    hasForeign: (key) => foreign.has(key),
    hasUnwatched(key, namespace) {
      const { namespaces } = foreign.get(key) ?? {};
      return namespaces !== undefined && !namespaces.includes(namespace);
    },
  };
}

const textOf = (server: Server | undefined): string =>
  server === undefined ? "" : [senderOf(server), server.since, server.released].join(" ");

function reasonOf(account: AnyAccount): FreeReason {
  const { server } = account.status ?? {};
  if (server?.released !== undefined) return isProbedOnly(server) ? "New" : "Released";
  if (server !== undefined) return "Ended";
  return isNew(account) ? "New" : "Removed";
}

/** No process has ever seen it: the first one that does leaves an entry, and what needs an account gives it the finalizer. */
function isNew({ metadata, status }: AnyAccount): boolean {
  return status?.observedGeneration === undefined && metadata.finalizers?.includes(FINALIZER) !== true;
}
