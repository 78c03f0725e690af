import type { AccountHandle, Resolved } from "../account/registry.ts";
import type { ResolvedStore } from "../artifact-store/registry.ts";
import type { Block } from "./observations.ts";
import type { Job } from "./types.ts";

export type GateFacts = {
  job: Job;
  resolved: Exclude<Resolved, { kind: "Checking" }>;
  /** Undefined without `spec.output`. */
  store: Exclude<ResolvedStore, { kind: "Checking" }> | undefined;
};

export type Gate = (facts: GateFacts) => Block | undefined;

/**
 * Whether a job may be submitted now. The gates are asked in this order; the status shows the first that holds the job back. The
 * admission (`SpendingAdmission.request`) is asked after them, because its yes takes a place.
 */
export const SUBMISSION_GATES: readonly Gate[] = [storeReady, accountReady, accountUnchanged];

export function blockOf(facts: GateFacts, gates: readonly Gate[] = SUBMISSION_GATES): Block | undefined {
  for (const gate of gates) {
    const block = gate(facts);
    if (block !== undefined) return block;
  }
  return undefined;
}

function storeReady({ store }: GateFacts): Block | undefined {
  return store?.kind === "Held" ? { reason: store.reason, message: store.message, stalled: true } : undefined;
}

function accountReady({ resolved }: GateFacts): Block | undefined {
  if (resolved.kind === "Usable") return undefined;
  const { reason, message, againMs } = resolved;
  return { reason, message, stalled: false, ...(againMs === undefined ? {} : { againMs }) };
}

function accountUnchanged({ job, resolved }: GateFacts): Block | undefined {
  return resolved.kind === "Usable" ? accountMismatch(job, resolved.account) : undefined;
}

/** Once something was submitted, a job's account is that of the submission (api: accountRef). */
export function accountMismatch({ status }: Job, account: AccountHandle): Block | undefined {
  const bound = status?.account;
  if (bound === undefined || status?.submission === undefined || bound.baseURL === account.baseURL) return undefined;
  const message = `bound to ${bound.baseURL}, but the account now has base URL ${account.baseURL}: nothing is sent; restore the account's baseURL, or recreate the job`;
  return { reason: "AccountMismatch", message, stalled: true };
}
