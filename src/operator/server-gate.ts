import type { AccountKey } from "../controllers/account/registry.ts";
import type { Servers } from "../controllers/account/servers.ts";
import type { AccountWork } from "../controllers/account/terms.ts";
import type { Kind } from "../controllers/controller-deps.ts";
import { messageOf } from "../controllers/verdict.ts";
import type { KubeObject } from "../kube/types.ts";
import type { Reconcile, SharedReconciler } from "../runtime/controller.ts";
import type { Members } from "../runtime/members.ts";
import { isPartial } from "../runtime/shortened.ts";
import type { OwnedRow, Ownership } from "./ownership.ts";

/** Reconciles objects only while this process serves their account. */
export type ServerGate = AccountWork & {
  /** A row that `submits` needs this process to serve the account. For others, an account that nobody serves will do for the first process. */
  whileServed<T extends KubeObject>(
    row: GatedRow,
    kind: Pick<Kind<T>, "store">,
    reconciler: SharedReconciler<T>,
  ): Reconcile;
  /** Whether an object that this installation watches needs a process that serves the account. */
  isNeeded(account: AccountKey): boolean;
  /** Whether this process has something under way for the object, whoever serves its account by now: it needs all of the object. */
  isBusy(row: OwnedRow, object: KubeObject): boolean;
};

type GatedRow = OwnedRow & { submits?: boolean | undefined };

type GateOptions = {
  servers: () => Pick<Servers, "requires" | "serves" | "cleansUp" | "isElsewhere" | "isUnwatchedElsewhere">;
  members: Pick<Members, "isFirst">;
  ownership: () => Pick<Ownership, "accountOf">;
  /** Lists everything anew: an object is stored without what its reconcile reads. */
  renewLists: () => void;
};

/** An object that is stored in part is reconciled when it is listed. This interval is for a list that fails. */
const AGAIN_MS = 30_000;

type Row = {
  row: GatedRow;
  kind: { store: Pick<Kind<KubeObject>["store"], "byIndex" | "someInIndex"> };
  reconciler: Pick<SharedReconciler<KubeObject>, "underWay" | "forget">;
};

export function createServerGate({ servers, members, ownership, renewLists }: GateOptions): ServerGate {
  const rows: Row[] = [];
  /** Reconciles under way by account. */
  const active = new Map<AccountKey, number>();

  function count(account: AccountKey, by: number): void {
    const now = (active.get(account) ?? 0) + by;
    if (now > 0) active.set(account, now);
    else active.delete(account);
  }

  /**
   * An object that no other process works for is reconciled by the first one, so that it shows why nothing is sent: it has no account, or
   * the installation that serves the account does not watch its namespace.
   */
  function isOurs(account: AccountKey | undefined, namespace: string, { submits = false }: GatedRow): boolean {
    if (account === undefined) return members.isFirst();
    if (servers().cleansUp(account)) return true;
    if (submits ? servers().requires(account) : servers().serves(account)) return true;
    const isNobodys = !submits && !servers().isElsewhere(account);
    return members.isFirst() && (isNobodys || servers().isUnwatchedElsewhere(account, namespace));
  }

  return {
    whileServed(row, kind, reconciler) {
      rows.push({ row, kind, reconciler } as Row);
      return async (request, context) => {
        const object = kind.store.get(request.key);
        if (object === undefined) return reconciler.reconcile(request, context);
        const account = ownership().accountOf(row, object);
        /**
         * Forgets the object if it is not this process's to reconcile. It is enqueued when this process begins to serve its account, or
         * becomes the first.
         */
        const letGo = (): boolean => {
          const ours = isOurs(account, object.metadata.namespace ?? "", row);
          if (ours || reconciler.underWay(object) === "Outcome") return false;
          reconciler.forget(request.key);
          return true;
        };
        if (letGo()) return undefined;
        if (isPartial(object)) {
          renewLists();
          return { requeueAfterMs: AGAIN_MS };
        }
        if (account === undefined) return reconciler.reconcile(request, context);
        count(account, 1);
        try {
          return await reconciler.reconcile(request, context);
        } catch (error) {
          // Whatever failed: another process goes on, or this one when it serves the account again.
          if (!letGo()) throw error;
          context.log.debug(
            { reason: messageOf(error) },
            "not reconciled: this process does not serve the account any more",
          );
          return undefined;
        } finally {
          count(account, -1);
        }
      };
    },
    isNeeded: (account) =>
      rows.some(
        ({ row, kind }) =>
          row.submits === true &&
          kind.store.someInIndex("account", account, (object) => ownership().accountOf(row, object) === account),
      ),
    isBusy: (of, object) =>
      rows.some(
        ({ row, reconciler }) => row.resource.kind === of.resource.kind && reconciler.underWay(object) !== undefined,
      ),
    isUnderWay: (account) =>
      active.has(account) ||
      rows.some(({ kind, reconciler }) =>
        kind.store.byIndex("account", account).some((object) => reconciler.underWay(object) !== undefined),
      ),
    forget(account) {
      for (const { kind, reconciler } of rows) {
        for (const object of kind.store.byIndex("account", account)) {
          const { namespace, name } = object.metadata;
          reconciler.forget(`${namespace}/${name}`);
        }
      }
    },
  };
}
