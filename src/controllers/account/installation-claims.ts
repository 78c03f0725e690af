import type { Logger } from "pino";
import { type AccountStatus, isClusterAccount } from "../../api/v1alpha1/account.ts";
import { removeCondition } from "../../api/v1alpha1/conditions.ts";
import { type Clock, rfc3339, stopwatch, withDeadline } from "../../base/clock.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isConflict } from "../../kube/errors.ts";
import type { EventRecorder } from "../../runtime/recorder.ts";
import type { Kind } from "../controller-deps.ts";
import {
  type AnyAccount,
  type Claim,
  type ClaimRequest,
  createContests,
  createForeignClaims,
} from "./foreign-claims.ts";
import type { AccountKey } from "./registry.ts";

/** An account whose claim this process keeps. */
type Held = {
  /** Of the account object: one that is deleted and created again has no claim. */
  uid: string;
  /** Monotonic ms: begin of the last write that the API server confirmed. */
  renewedAt: number;
  /** Milliseconds since then. */
  age: () => number;
  renew(): Promise<void>;
};

export type Claimed<T> =
  /** This installation uses the account. `object`: with the claim. */
  | { kind: "Ours"; object: T }
  /** No installation uses the ClusterAccount, and no object that this one watches needs it. */
  | { kind: "Unclaimed"; object: T }
  /** Another installation uses the account. `message`: what to do, when an object here needs the account. */
  | { kind: "Foreign"; message: string | undefined };

/**
 * Claims accounts for this installation: an installation is all operators with the same lease. Two installations
 * do not share it, so nothing else keeps them from sending the same request.
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
  /**
   * @param request.isNeeded whether an object that this installation watches needs the account
   * @throws KubeError 409 when the account changed meanwhile
   */
  claim<T extends AnyAccount>(
    key: AccountKey,
    request: ClaimRequest<T> & { isNeeded: () => boolean },
    signal: AbortSignal,
  ): Promise<Claimed<T>>;
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
  /** Namespace of the lease. */
  installation: string;
  /** The namespaces that this installation watches; empty for all. */
  watchNamespaces: readonly string[];
  onLost: (error: Error) => void;
  /** Reconciles the account. */
  check: (key: AccountKey) => void;
};

/** The holder sends nothing when it has not renewed for this long. */
const HOLD_MS = 60_000;
/** A claim shows at most so many namespaces. */
const SHOWN_NAMESPACES = 256;
const RENEW_MS = 20_000;
const TICK_MS = 5_000;

export function createInstallationClaims(options: InstallationClaimsOptions): InstallationClaims {
  const { clock, log, installation, watchNamespaces } = options;
  const isShown = watchNamespaces.length > 0 && watchNamespaces.length <= SHOWN_NAMESPACES;
  const namespaces = isShown ? { namespaces: [...watchNamespaces] } : {};
  const { held, ...renewals } = createRenewals(clock, log);
  const foreign = createForeignClaims(clock, installation);
  const contests = createContests(options);
  /** Accounts that objects need. */
  const required = new Set<AccountKey>();
  const listeners: ((key: AccountKey) => void)[] = [];

  function lose(key: AccountKey, { installation: other }: Claim): Error {
    const error = new Error(`the installation in namespace ${other} has claimed ${key}, which this one used`);
    options.onLost(error);
    return error;
  }

  async function write<T extends AnyAccount>(kind: Kind<T>, object: T, signal: AbortSignal): Promise<T> {
    const status: AccountStatus = {
      ...(object.status ?? { conditions: [] }),
      claim: { installation, ...namespaces, renewTime: rfc3339(clock.now()) },
      conditions: removeCondition(object.status?.conditions, "Contested"),
    };
    return kind.patchStatus(object, status, signal);
  }

  async function renew<T extends AnyAccount>(key: AccountKey, kind: Kind<T>, name: string): Promise<void> {
    const object = kind.store.get(name);
    const mine = held.get(key);
    if (object === undefined || mine === undefined || object.metadata.uid !== mine.uid) return;
    const other = foreign.observe(key, object.status?.claim);
    if (other !== undefined) throw lose(key, other);
    const asked = clock.monotonic();
    const age = stopwatch(clock);
    await withDeadline(clock, RENEW_MS, (deadline) =>
      write(kind, object, AbortSignal.any([renewals.signal, deadline])),
    );
    Object.assign(mine, { renewedAt: asked, age }); // counted from before the request
  }

  return {
    async claim(key, { kind, object, isNeeded }, signal) {
      // At a start, before any object that needs it is reconciled.
      if (!required.has(key) && isClusterAccount(object) && isNeeded()) required.add(key);
      const wanted = !isClusterAccount(object) || required.has(key);
      const { claim } = object.status ?? {};
      const other = foreign.observe(key, claim);
      if (other !== undefined && held.has(key)) throw lose(key, other);
      if (other !== undefined) {
        if (wanted) await contests.show(key, { kind, object }, other.installation, signal);
        else contests.forget(key);
        return { kind: "Foreign", message: contests.messageOf(key) };
      }
      contests.forget(key);
      const { namespace, name, uid } = object.metadata;
      if (claim !== undefined && held.get(key)?.uid === uid) return { kind: "Ours", object };
      if (!wanted) return { kind: "Unclaimed", object };
      const asked = clock.monotonic();
      const age = stopwatch(clock);
      const taken = await write(kind, object, signal);
      foreign.forget(key);
      const stored = namespace === undefined ? name : `${namespace}/${name}`;
      held.set(key, { uid, renewedAt: asked, age, renew: () => renew(key, kind, stored) });
      if (claim !== undefined && claim.installation !== installation) {
        log.warn({ account: key, from: claim.installation }, "claim of another installation has expired; taken over");
      }
      for (const listener of listeners) listener(key);
      return { kind: "Ours", object: taken };
    },
    isForeign: foreign.has,
    isForeignElsewhere: foreign.hasElsewhere,
    requires(key) {
      required.add(key);
      if (held.has(key)) return true;
      if (!foreign.has(key)) options.check(key);
      return false;
    },
    assertHeld(key) {
      const mine = held.get(key);
      if (mine !== undefined && mine.age() < HOLD_MS) return;
      throw new Error(`the claim of ${key} is not surely held by this installation: nothing is sent`);
    },
    forget(key) {
      held.delete(key);
      required.delete(key);
      foreign.forget(key);
      contests.forget(key);
    },
    onClaimed: (listener) => void listeners.push(listener),
    assertUncontested: contests.assertNone,
    start: renewals.start,
    stop: renewals.stop,
  };
}

/** The claims that this process holds. They are renewed from `start` to `stop`; `signal` aborts at the stop. */
function createRenewals(clock: Clock, log: InstallationClaimsOptions["log"]) {
  const held = new Map<AccountKey, Held>();
  const ending = new AbortController();
  let cancelTick = () => {};

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

  function start(): void {
    cancelTick = clock.setTimeout(() => {
      void renewAll().finally(() => {
        if (!ending.signal.aborted) start();
      });
    }, TICK_MS);
  }

  function stop(): void {
    cancelTick();
    ending.abort(new Error("the operator is stopping"));
  }

  return { held, start, stop, signal: ending.signal };
}
