import type { AccountSpec } from "../../api/v1alpha1/account.ts";
import { serviceAddress } from "../../base/service-address.ts";
import { hashOf } from "../hash.ts";

/**
 * The version of an API key (AccountHandle.keyVersion). It depends on the key itself, not on the version of its Secret: when a user
 * writes the Secret again with the same key, or with the former one, the version stays. 64 bits of a hash do not lead back to the
 * key, because the service makes keys of many random characters.
 * @param account names the account among all clusters: the salt, which hides which accounts have the same key
 */
export function keyVersionOf(
  apiKey: string,
  { baseURL, paths, endpoints }: Pick<AccountSpec, "baseURL" | "paths" | "endpoints">,
  account: string,
): string {
  return hashOf([account, apiKey.trim(), serviceAddress(baseURL), paths, endpoints.generation]);
}
