import { accountOfResources, accountToUse } from "../controllers/account/binding.ts";
import type { InstallationClaims } from "../controllers/account/installation-claims.ts";
import type { AccountKey, AccountRegistry } from "../controllers/account/registry.ts";
import type { Kind } from "../controllers/controller-deps.ts";
import type { Reconcile } from "../runtime/controller.ts";
import type { Dependant } from "./ownership.ts";

export type ClaimGate = {
  claims: Pick<InstallationClaims, "requires" | "isForeign" | "isForeignElsewhere">;
  accounts: Pick<AccountRegistry, "keyOf">;
  /** Whether this shard has the account. Default: it has all. */
  hasAccount?: (key: AccountKey) => boolean;
};

/** The object is reconciled when its account is claimed. This interval is for a lost wake-up. */
const CLAIM_AGAIN_MS = 30_000;

/**
 * Reconciles an object only while this installation holds its account: another installation may work for the object. An object
 * that no other installation works for is reconciled, so that it shows why nothing is sent: it has no account, or the
 * installation that holds the account does not watch its namespace.
 * @param need `Claim`: this installation has to hold the account. `NoOther`: no other installation may hold it
 */
export function whileClaimed<T extends Dependant>(
  { claims, accounts, hasAccount = () => true }: ClaimGate,
  { store }: Pick<Kind<T>, "store">,
  need: "Claim" | "NoOther",
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
    const isOurs = need === "Claim" ? claims.requires(key) : !claims.isForeign(key);
    return isOurs || claims.isForeignElsewhere(key, namespace)
      ? reconcile(request, context)
      : { requeueAfterMs: CLAIM_AGAIN_MS };
  };
}
