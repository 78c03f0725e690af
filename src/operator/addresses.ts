import type { LookupFunction } from "node:net";
import type { AccountSpec, ClusterAccountSpec } from "../api/v1alpha1/account.ts";
import type { AccountRef } from "../api/v1alpha1/meta.ts";
import { anyExcept, publicOnly } from "../base/address-guard.ts";
import { resultLookup } from "../controllers/account/result-lookup.ts";

/** Which addresses the operator connects to for whom. */
export type Addresses = {
  /** The service of an account. */
  service(kind: AccountRef["kind"]): LookupFunction;
  /** The S3 service of an ArtifactStore. */
  store: LookupFunction;
  /** What results are copied from, redirects included. Receivers of callbacks too. */
  results(kind: AccountRef["kind"], spec: AccountSpec | Pick<ClusterAccountSpec, "results">): LookupFunction;
  /** Services of the cluster that receive callbacks. */
  clusterServices: LookupFunction;
};

export type AddressSettings = {
  /** Private addresses are allowed to everyone. */
  allowPrivateNetworks: boolean;
  /** Networks in CIDR notation that nobody may connect to, whatever else is allowed. */
  deniedNetworks: readonly string[];
};

const ACCOUNT_ADVICE =
  "a namespaced Account may use public addresses only: use a ClusterAccount, or --allow-private-networks for development";
const STORE_ADVICE =
  "an ArtifactStore may use public addresses only: use a public address or a volume, or start the operator with --allow-private-networks";

export function createAddresses({ allowPrivateNetworks, deniedNetworks }: AddressSettings): Addresses {
  const allowed = anyExcept(deniedNetworks);
  const account = allowPrivateNetworks ? allowed : publicOnly(ACCOUNT_ADVICE, [], deniedNetworks);
  return {
    service: (kind) => (kind === "Account" ? account : allowed),
    clusterServices: allowed,
    store: allowPrivateNetworks ? allowed : publicOnly(STORE_ADVICE, [], deniedNetworks),
    results: (kind, spec) => (allowPrivateNetworks ? allowed : resultLookup(kind, spec, deniedNetworks)),
  };
}
