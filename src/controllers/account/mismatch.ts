import { COMMANDS } from "../../api/v1alpha1/commands.ts";
import { isSameService } from "../../base/service-address.ts";
import type { Cause } from "../verdict.ts";
import { type AccountHandle, refOf } from "./registry.ts";

/**
 * Why nothing is sent for an object whose account now has another base URL than the one that the object is bound to. Ends
 * with the command that restores the base URL, without punctuation after it. Undefined: nothing is wrong.
 * @param bound base URL that the object is bound to; undefined: it is not bound
 * @param alternative what else helps
 */
export function accountMismatch(
  bound: string | undefined,
  { key, baseURL }: Pick<AccountHandle, "key" | "baseURL">,
  alternative = "create this object again at the new base URL",
): Cause | undefined {
  if (bound === undefined || isSameService(bound, baseURL)) return undefined;
  const { kind, name } = refOf(key);
  const namespace = kind === "Account" ? key.split("/")[1] : undefined;
  const restore = COMMANDS.restoreBaseURL({ kind, namespace, name }, bound);
  const message = `${kind} ${name} has spec.baseURL ${baseURL}, but this object is bound to ${bound}: nothing is sent. Either ${alternative}, or restore the base URL: ${restore}`;
  return { reason: "AccountMismatch", message };
}
