import type { AccountSpec, ClusterAccountSpec } from "../../api/v1alpha1/account.ts";
import type { AccountRef } from "../../api/v1alpha1/meta.ts";
import { type AddressGuard, publicOnly } from "../../base/address-guard.ts";

const ADVICE: Record<AccountRef["kind"], string> = {
  Account:
    "results of a namespaced Account are copied from public addresses only: use a ClusterAccount whose results.allowedPrivateNetworks has this network, or start the operator with --allow-private-networks",
  ClusterAccount:
    "results are copied from public addresses only: add this network to results.allowedPrivateNetworks of the ClusterAccount, or start the operator with --allow-private-networks",
};

/**
 * Judges the addresses that results are copied from, redirects included. Their URLs come from the service, not from the person who
 * made the account: the host of baseURL is trusted no more than any other.
 */
export function resultLookup(
  kind: AccountRef["kind"],
  spec: AccountSpec | Pick<ClusterAccountSpec, "results">,
  denied: readonly string[] = [],
): AddressGuard {
  const allowed = kind === "ClusterAccount" && "results" in spec ? spec.results?.allowedPrivateNetworks : undefined;
  return publicOnly(ADVICE[kind], allowed, denied);
}
