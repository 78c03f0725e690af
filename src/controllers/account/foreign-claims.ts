import type { Logger } from "pino";
import type { Account, AccountStatus, ClusterAccount } from "../../api/v1alpha1/account.ts";
import { COMMANDS } from "../../api/v1alpha1/commands.ts";
import { setCondition } from "../../api/v1alpha1/conditions.ts";
import { type Clock, rfc3339 } from "../../base/clock.ts";
import type { EventRecorder } from "../../runtime/recorder.ts";
import type { Kind } from "../controller-deps.ts";
import type { AccountKey } from "./registry.ts";

export type AnyAccount = Account | ClusterAccount;
export type Claim = NonNullable<AccountStatus["claim"]>;
export type ClaimRequest<T extends AnyAccount> = { kind: Kind<T>; object: T };

/** A claim that did not change for this long may be taken. */
const CLAIM_MS = 90_000;

/** The claims of other installations, as far as this process knows. */
export type ForeignClaims = {
  /** The claim, if it is of another installation. It expires when it stays the same for 90 s. */
  observe(key: AccountKey, claim: Claim | undefined): Claim | undefined;
  /** Whether another installation holds the account. */
  has(key: AccountKey): boolean;
  /** Whether another installation holds the account and does not watch this namespace. */
  hasElsewhere(key: AccountKey, namespace: string): boolean;
  forget(key: AccountKey): void;
};

export function createForeignClaims(clock: Clock, installation: string): ForeignClaims {
  /** `at`: when this process first saw the value, monotonic ms. */
  const claims = new Map<AccountKey, { claim: Claim; at: number }>();

  function has(key: AccountKey): boolean {
    const seen = claims.get(key);
    return seen !== undefined && clock.monotonic() < seen.at + CLAIM_MS;
  }

  return {
    has,
    observe(key, claim) {
      if (claim === undefined || claim.installation === installation) {
        claims.delete(key);
        return undefined;
      }
      const { claim: known } = claims.get(key) ?? {};
      const same = known?.installation === claim.installation && known.renewTime === claim.renewTime;
      if (!same) claims.set(key, { claim, at: clock.monotonic() });
      return has(key) ? claim : undefined;
    },
    hasElsewhere(key, namespace) {
      const shown = claims.get(key)?.claim.namespaces;
      return has(key) && shown !== undefined && !shown.includes(namespace);
    },
    forget: (key) => void claims.delete(key),
  };
}

/** Accounts that this installation needs and another one holds. */
export type Contests = {
  /** Shows on the account, once, that the installation `other` holds it. @throws KubeError 409 when the account changed meanwhile */
  show<T extends AnyAccount>(
    key: AccountKey,
    request: ClaimRequest<T>,
    other: string,
    signal: AbortSignal,
  ): Promise<void>;
  /** What the account shows. */
  messageOf(key: AccountKey): string | undefined;
  forget(key: AccountKey): void;
  /** @throws Error that names the accounts */
  assertNone(): void;
};

export type ContestsOptions = {
  clock: Clock;
  log: Pick<Logger, "error">;
  recorder: Pick<EventRecorder, "warning">;
  installation: string;
};

export function createContests({ clock, log, recorder, installation }: ContestsOptions): Contests {
  const messages = new Map<AccountKey, string>();

  return {
    async show(key, { kind, object }, other, signal) {
      const message = contestMessage(object, installation, other);
      if (messages.get(key) !== message) {
        log.error({ account: key, installation, other }, message);
        recorder.warning(object, "ClaimedByAnotherInstallation", "Claim", message);
        messages.set(key, message);
      }
      const status: AccountStatus = object.status ?? { conditions: [] };
      const { conditions } = status;
      if (conditions.some(({ type }) => type === "Contested")) return;
      const update = { type: "Contested", status: "True", reason: "ClaimedByAnotherInstallation", message } as const;
      const shown = setCondition(conditions, update, rfc3339(clock.now()));
      await kind.patchStatus(object, { ...status, conditions: shown }, signal);
    },
    messageOf: (key) => messages.get(key),
    forget: (key) => void messages.delete(key),
    assertNone() {
      if (messages.size > 0) throw new Error([...messages.values()].join("; "));
    },
  };
}

/** What happens, and the commands to resolve it. */
function contestMessage({ kind = "Account", metadata }: AnyAccount, own: string, other: string): string {
  const { namespace, name } = metadata;
  const release = COMMANDS.releaseClaim({ kind, namespace, name });
  return `Two installations of Mooring serve this account: the one in namespace ${other} uses it, and the one in namespace ${own} sends nothing for it. Uninstall one of them, or give each its own namespaces and accounts. To hand the account to ${own}: stop the operator in ${other}, then wait ${CLAIM_MS / 1000} s, or run: ${release}`;
}
