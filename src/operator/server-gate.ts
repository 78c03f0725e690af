import { accountOfResources, accountToUse } from "../controllers/account/binding.ts";
import type { AccountKey, AccountRegistry } from "../controllers/account/registry.ts";
import type { Servers } from "../controllers/account/servers.ts";
import type { Kind } from "../controllers/controller-deps.ts";
import type { Reconcile } from "../runtime/controller.ts";
import type { Dependant } from "./ownership.ts";

export type ServerGate = {
  servers: Pick<Servers, "requires" | "isElsewhere" | "isUnwatchedElsewhere">;
  accounts: Pick<AccountRegistry, "keyOf">;
  /** Whether this shard has the account. Default: it has all. */
  hasAccount?: (key: AccountKey) => boolean;
};

/** The object is reconciled when its account is served. This interval is for a lost wake-up. */
const AGAIN_MS = 30_000;

/**
 * Reconciles an object only while this installation serves its account: another installation may work for the object. An object
 * that no other installation works for is reconciled, so that it shows why nothing is sent: it has no account, or the
 * installation that serves the account does not watch its namespace.
 * @param need `Serving`: this installation has to serve the account. `NoOther`: no other installation may serve it
 */
export function whileServed<T extends Dependant>(
  { servers, accounts, hasAccount = () => true }: ServerGate,
  { store }: Pick<Kind<T>, "store">,
  need: "Serving" | "NoOther",
  reconcile: Reconcile,
): Reconcile {
  return async (request, context) => {
    const object = store.get(request.key);
    if (object === undefined) return reconcile(request, context);
    const { namespace } = object.metadata;
    const keys = [accountOfResources(object), accountToUse(object)].flatMap(
      (ref) => accounts.keyOf(ref, namespace) ?? [],
    );
    const key = keys.find(hasAccount);
    if (key === undefined) return reconcile(request, context);
    const isOurs = need === "Serving" ? servers.requires(key) : !servers.isElsewhere(key);
    return isOurs || servers.isUnwatchedElsewhere(key, namespace)
      ? reconcile(request, context)
      : { requeueAfterMs: AGAIN_MS };
  };
}
