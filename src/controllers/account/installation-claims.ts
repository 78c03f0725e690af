import type { Logger } from "pino";
import { type Account, type AccountStatus, type ClusterAccount, isClusterAccount } from "../../api/v1alpha1/account.ts";
import { removeCondition, setCondition } from "../../api/v1alpha1/conditions.ts";
import { type Clock, rfc3339, withDeadline } from "../../clock.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isConflict } from "../../kube/errors.ts";
import type { EventRecorder } from "../../runtime/recorder.ts";
import type { Journal } from "../../submission/journal.ts";
import { assertJournalStored, type Kind } from "../controller-deps.ts";
import type { AccountKey } from "./registry.ts";

type AnyAccount = Account | ClusterAccount;
type Claim = NonNullable<AccountStatus["claim"]>;

/** An account whose claim this process keeps. */
type Held = {
  /** Of the account object: one that is deleted and created again has no claim. */
  uid: string;
  /** Monotonic ms: begin of the last write that the API server confirmed. */
  renewedAt: number;
  /** The journal has every request for the account since then, ms since the epoch. */
  journalCompleteSince: number;
  renew(): Promise<void>;
};

export type Claimed<T> =
  /** This installation uses the account. `object`: with the claim. */
  | { kind: "Ours"; object: T }
  /** No installation uses the ClusterAccount, and no object that this one watches needs it. */
  | { kind: "Unclaimed"; object: T }
  /** Another installation uses the account. `message`: what to do, when an object here needs the account. */
  | { kind: "Foreign"; message: string | undefined };

export type ClaimRequest<T extends AnyAccount> = { kind: Kind<T>; object: T };

/**
 * Claims accounts for this installation: an installation is all operators with the same lease and journal. Two installations
 * share neither, so nothing else keeps them from sending the same request.
 *
 * # Expected flow
 * 1. An account's reconcile calls `claim` before anything else. The claim is in `status.claim`.
 * 2. The claims that this process holds are renewed every 20 s, beside the reconciles.
 * 3. `assertHeld` is called right before a paid request is sent.
 *
 * # Guarantees
 * - One installation at a time holds an account: a claim is written with the object's version as the lock.
 * - A claim of another installation is taken only when it did not change for 90 s, by this process's own clock. Its holder
 *   stops sending 60 s after its last renewal.
 * - A restarted operator of the same installation has the claim at once. A stopped one does not release it, so that a rollout
 *   hands no account over.
 * - `onLost` is called when another installation has taken an account that this process held. The process must end.
 */
export type InstallationClaims = {
  /** @throws KubeError 409 when the account changed meanwhile */
  claim<T extends AnyAccount>(key: AccountKey, request: ClaimRequest<T>, signal: AbortSignal): Promise<Claimed<T>>;
  /**
   * Whether this process holds the account, which an object needs. If nobody holds it, the account is reconciled and claimed.
   * Every installation sees each ClusterAccount, so one is claimed only for such an object. An Account is always claimed.
   */
  requires(key: AccountKey): boolean;
  /** Whether another installation holds the account, as far as this process knows. */
  isForeign(key: AccountKey): boolean;
  /** Whether another installation holds the account and does not watch this namespace: its objects are not its concern. */
  isForeignElsewhere(key: AccountKey, namespace: string): boolean;
  /** @throws Error unless this installation surely holds the account */
  assertHeld(key: AccountKey): void;
  /**
   * Since when the journal has every request for the account, ms since the epoch: a journal that was lost may have had the
   * earlier ones. `-Infinity`: it has all of them.
   */
  journalCompleteSince(key: AccountKey): number;
  /** The account is deleted. */
  forget(key: AccountKey): void;
  /** Called when this process has claimed an account. */
  onClaimed(listener: (key: AccountKey) => void): void;
  /** @throws Error that names the accounts that this installation needs and another one holds */
  assertUncontested(): void;
  start(): void;
  stop(): void;
};

export type InstallationClaimsOptions = {
  kube: KubeClient;
  clock: Clock;
  log: Pick<Logger, "error" | "warn" | "debug">;
  recorder: Pick<EventRecorder, "warning">;
  /** Namespace of the lease and the journal. */
  installation: string;
  /** Open before the first claim. */
  journal: Pick<Journal, "id" | "createdAt">;
  /** The namespaces that this installation watches; empty for all. */
  watchNamespaces: readonly string[];
  onLost: (error: Error) => void;
  /** Reconciles the account. */
  check: (key: AccountKey) => void;
};

/** A claim that did not change for this long may be taken. */
const CLAIM_MS = 90_000;
/** The holder sends nothing when it has not renewed for this long. */
const HOLD_MS = 60_000;
/** A claim shows at most so many namespaces. */
const SHOWN_NAMESPACES = 256;
const RENEW_MS = 20_000;
const TICK_MS = 5_000;

export function createInstallationClaims(options: InstallationClaimsOptions): InstallationClaims {
  const { clock, log, installation, watchNamespaces, journal } = options;
  const isShown = watchNamespaces.length > 0 && watchNamespaces.length <= SHOWN_NAMESPACES;
  const namespaces = isShown ? { namespaces: [...watchNamespaces] } : {};
  const held = new Map<AccountKey, Held>();
  /** Claims of other installations, and when this process first saw each value (monotonic ms). */
  const foreign = new Map<AccountKey, { claim: Claim; at: number }>();
  /** Accounts that objects need. */
  const required = new Set<AccountKey>();
  /** Accounts that this installation needs and another one holds: by key, the message. */
  const contested = new Map<AccountKey, string>();
  const listeners: ((key: AccountKey) => void)[] = [];
  const ending = new AbortController();
  let cancelTick = () => {};

  const isForeign = (key: AccountKey): boolean => {
    const seen = foreign.get(key);
    return seen !== undefined && clock.monotonic() < seen.at + CLAIM_MS;
  };

  /** The claim of another installation. It expires when it stays the same for long enough. */
  function observe(key: AccountKey, claim: Claim | undefined): Claim | undefined {
    if (claim === undefined || claim.installation === installation) {
      foreign.delete(key);
      return undefined;
    }
    const { claim: known } = foreign.get(key) ?? {};
    const same = known?.installation === claim.installation && known.renewTime === claim.renewTime;
    if (!same) foreign.set(key, { claim, at: clock.monotonic() });
    return isForeign(key) ? claim : undefined;
  }

  function lose(key: AccountKey, { installation: other }: Claim): Error {
    const error = new Error(`the installation in namespace ${other} has claimed ${key}, which this one used`);
    options.onLost(error);
    return error;
  }

  async function write<T extends AnyAccount>(kind: Kind<T>, object: T, signal: AbortSignal): Promise<T> {
    const status: AccountStatus = {
      ...(object.status ?? { conditions: [] }),
      claim: { installation, ...namespaces, renewTime: rfc3339(clock.now()) },
      journal: journalOf(object, journal, clock.now()),
      conditions: removeCondition(object.status?.conditions, "Contested"),
    };
    const stored = await kind.patchStatus(object, status, signal);
    assertJournalStored(kind, "status.journal", stored.status?.journal?.id, journal.id());
    return stored;
  }

  async function renew<T extends AnyAccount>(key: AccountKey, kind: Kind<T>, name: string): Promise<void> {
    const object = kind.store.get(name);
    const mine = held.get(key);
    if (object === undefined || mine === undefined || object.metadata.uid !== mine.uid) return;
    const other = observe(key, object.status?.claim);
    if (other !== undefined) throw lose(key, other);
    const asked = clock.monotonic();
    await withDeadline(clock, RENEW_MS, (deadline) => write(kind, object, AbortSignal.any([ending.signal, deadline])));
    mine.renewedAt = asked; // counted from before the request
  }

  async function renewAll(): Promise<void> {
    const due = [...held].filter(([, { renewedAt }]) => clock.monotonic() >= renewedAt + RENEW_MS);
    for (const [key, { renew }] of due) {
      if (ending.signal.aborted) return;
      await renew().catch((error: unknown) => {
        const level = isConflict(error) ? "debug" : "warn";
        log[level]({ account: key, reason: String(error) }, "claim not renewed; trying again");
      });
    }
  }

  function tick(): void {
    cancelTick = clock.setTimeout(() => {
      void renewAll().finally(() => {
        if (!ending.signal.aborted) tick();
      });
    }, TICK_MS);
  }

  /** Shows on the account, once, that two installations want it. */
  async function contest<T extends AnyAccount>(
    key: AccountKey,
    { kind, object }: Pick<ClaimRequest<T>, "kind" | "object">,
    { installation: other }: Claim,
    signal: AbortSignal,
  ): Promise<void> {
    const message = contestMessage(object, installation, other);
    if (contested.get(key) !== message) {
      log.error({ account: key, installation, other }, message);
      options.recorder.warning(object, "ClaimedByAnotherInstallation", "Claim", message);
      contested.set(key, message);
    }
    const status: AccountStatus = object.status ?? { conditions: [] };
    const { conditions } = status;
    if (conditions.some(({ type }) => type === "Contested")) return;
    const update = { type: "Contested", status: "True", reason: "ClaimedByAnotherInstallation", message } as const;
    const shown = setCondition(conditions, update, rfc3339(clock.now()));
    await kind.patchStatus(object, { ...status, conditions: shown }, signal);
  }

  return {
    async claim(key, { kind, object }, signal) {
      const wanted = !isClusterAccount(object) || required.has(key);
      const { claim } = object.status ?? {};
      const other = observe(key, claim);
      if (other !== undefined && held.has(key)) throw lose(key, other);
      if (other !== undefined) {
        if (wanted) await contest(key, { kind, object }, other, signal);
        else contested.delete(key);
        return { kind: "Foreign", message: contested.get(key) };
      }
      contested.delete(key);
      const { namespace, name, uid } = object.metadata;
      if (claim !== undefined && held.get(key)?.uid === uid) return { kind: "Ours", object };
      if (!wanted) return { kind: "Unclaimed", object };
      const asked = clock.monotonic();
      const taken = await write(kind, object, signal);
      foreign.delete(key);
      const stored = namespace === undefined ? name : `${namespace}/${name}`;
      const { completeSince } = taken.status?.journal ?? {};
      const journalCompleteSince = completeSince === undefined ? Number.NEGATIVE_INFINITY : Date.parse(completeSince);
      held.set(key, { uid, renewedAt: asked, journalCompleteSince, renew: () => renew(key, kind, stored) });
      if (claim !== undefined && claim.installation !== installation) {
        log.warn({ account: key, from: claim.installation }, "claim of another installation has expired; taken over");
      }
      for (const listener of listeners) listener(key);
      return { kind: "Ours", object: taken };
    },
    isForeign,
    isForeignElsewhere(key, namespace) {
      const shown = foreign.get(key)?.claim.namespaces;
      return isForeign(key) && shown !== undefined && !shown.includes(namespace);
    },
    requires(key) {
      required.add(key);
      if (held.has(key)) return true;
      if (!isForeign(key)) options.check(key);
      return false;
    },
    assertHeld(key) {
      const mine = held.get(key);
      if (mine !== undefined && clock.monotonic() < mine.renewedAt + HOLD_MS) return;
      throw new Error(`the claim of ${key} is not surely held by this installation: nothing is sent`);
    },
    journalCompleteSince: (key) => held.get(key)?.journalCompleteSince ?? Number.NEGATIVE_INFINITY,
    forget(key) {
      held.delete(key);
      required.delete(key);
      foreign.delete(key);
      contested.delete(key);
    },
    onClaimed: (listener) => void listeners.push(listener),
    assertUncontested() {
      if (contested.size > 0) throw new Error([...contested.values()].join("; "));
    },
    start: tick,
    stop() {
      cancelTick();
      ending.abort(new Error("the operator is stopping"));
    },
  };
}

/**
 * Which journal has the account's requests, and since when. The status shows the journal before the first request is sent, so an
 * account without one has sent nothing, unless it replaces a deleted account of the same name.
 */
function journalOf(
  { metadata, status }: AnyAccount,
  journal: InstallationClaimsOptions["journal"],
  now: number,
): NonNullable<AccountStatus["journal"]> {
  const id = journal.id();
  const { journal: shown, claim } = status ?? {};
  if (shown?.id === id) return shown;
  // An earlier version wrote a claim without a journal.
  if (shown !== undefined || claim !== undefined) {
    // Objects have the API server's time, which may be ahead of ours.
    return { id, completeSince: rfc3339(Math.max(now, journal.createdAt())) };
  }
  const isOlder = Date.parse(metadata.creationTimestamp) <= journal.createdAt();
  return isOlder ? { id } : { id, completeSince: rfc3339(journal.createdAt()) };
}

/** What happens, and the commands to resolve it. */
function contestMessage({ kind = "Account", metadata }: AnyAccount, own: string, other: string): string {
  const { namespace, name } = metadata;
  const object = `${kind.toLowerCase()}${namespace === undefined ? "" : ` -n ${namespace}`} ${name}`;
  return `Two installations of Mooring serve this account: the one in namespace ${other} uses it, and the one in namespace ${own} sends nothing for it. Uninstall one of them, or give each its own namespaces and accounts. To hand the account to ${own}: stop the operator in ${other}, then wait ${CLAIM_MS / 1000} s, or run: kubectl patch ${object} --subresource=status --type=merge -p '{"status":{"claim":null}}'`;
}
