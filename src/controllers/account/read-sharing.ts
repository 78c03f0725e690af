import { type Account, type ClusterAccount, isClusterAccount } from "../../api/v1alpha1/account.ts";
import { isForbidden } from "../../kube/errors.ts";
import { billDay } from "../billing/bill-day.ts";
import type { ControllerDeps } from "../controller-deps.ts";
import { StalledError } from "../references.ts";
import type { Dependants } from "./dependants.ts";
import type { NamespaceLabels, Namespaces } from "./namespaces.ts";
import type { AccountKey } from "./registry.ts";
import { shareFaults } from "./shares.ts";

type SharingParts = {
  shared: Pick<ControllerDeps, "shareCosts">;
  wiring: { namespaces: Pick<Namespaces, "all">; dependants: Pick<Dependants, "usage"> };
};

/**
 * Reads what the limits of shares count, before the account is used: after a start, the objects and the ledger know what was used.
 * @throws StalledError when the operator may not list namespaces
 */
export async function readSharing(
  { shared, wiring }: SharingParts,
  key: AccountKey,
  { spec }: Account | ClusterAccount,
  signal: AbortSignal,
): Promise<void> {
  if (!("shares" in spec) || spec.shares === undefined) return;
  try {
    await wiring.namespaces.all();
  } catch (error) {
    if (!isForbidden(error)) throw error;
    throw new StalledError(
      "ReadForbidden",
      "spec.shares needs the labels of namespaces: grant the operator list on namespaces",
    );
  }
  const dayOf = (time: number) => billDay(spec.billing.timeZone, time);
  await shared.shareCosts.load(key, () => wiring.dependants.usage(key, dayOf), signal);
}

/** What is wrong with the shares of an account. undefined: it has none. */
export function shareFaultsOf(object: Account | ClusterAccount, labels: NamespaceLabels): string[] | undefined {
  return isClusterAccount(object) && object.spec.shares !== undefined ? shareFaults(object.spec, labels) : undefined;
}
