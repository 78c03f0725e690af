import type { Logger } from "pino";
import type { AccountStatus } from "../../api/v1alpha1/account.ts";
import { COMMANDS } from "../../api/v1alpha1/commands.ts";
import { setCondition } from "../../api/v1alpha1/conditions.ts";
import { type Clock, rfc3339 } from "../../base/clock.ts";
import type { Members } from "../../runtime/members.ts";
import type { EventRecorder } from "../../runtime/recorder.ts";
import type { AnyAccount, ServeRequest, Server } from "./other-servers.ts";
import { UNCHANGED_MS } from "./process-ends.ts";
import type { AccountKey } from "./registry.ts";

/** Accounts that this installation needs and another one serves. */
export type Contests = {
  /** Shows on the account, once, that another installation serves it. @throws KubeError 409 when the account changed meanwhile */
  show<T extends AnyAccount>(
    key: AccountKey,
    request: ServeRequest<T>,
    other: Pick<Server, "namespace">,
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
  members: Pick<Members, "isFirst">;
};

export function createContests({ clock, log, recorder, installation, members }: ContestsOptions): Contests {
  const messages = new Map<AccountKey, string>();

  return {
    async show(key, { kind, object }, { namespace: other }, signal) {
      const message = contestMessage(object, installation, other);
      if (!members.isFirst()) return void messages.set(key, message);
      if (messages.get(key) !== message) {
        log.error({ account: key, installation, other }, message);
        recorder.warning(object, "ServedByAnotherInstallation", "Serve", message);
        messages.set(key, message);
      }
      const status: AccountStatus = object.status ?? { conditions: [] };
      const { conditions } = status;
      if (conditions.some(({ type }) => type === "Contested")) return;
      const update = { type: "Contested", status: "True", reason: "ServedByAnotherInstallation", message } as const;
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
  const release = COMMANDS.releaseAccount({ kind, namespace, name });
  return `Two installations of Mooring serve this account: the one in namespace ${other} uses it, and the one in namespace ${own} sends nothing for it. Uninstall one of them, or give each its own namespaces and accounts. To hand the account to ${own}: stop the operator in ${other}, then wait ${UNCHANGED_MS / 1000} s, or run: ${release}`;
}
