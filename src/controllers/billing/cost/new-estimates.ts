import type { AccountKey } from "../../account/registry.ts";
import type { CostEstimates } from "./estimates.ts";

/** Which accounts have an estimate that the statuses of their objects were not asked to show yet. */
export type NewEstimates = {
  /**
   * Whether the account has another estimate than at the last call. A failed reading of the bills, and a reading of key budgets, makes
   * none.
   */
  take(account: AccountKey): boolean;
};

export function createNewEstimates(estimates: Pick<CostEstimates, "get">): NewEstimates {
  const taken = new Map<AccountKey, number>();

  return {
    take(account) {
      const at = estimates.get(account)?.at;
      if (at === undefined || taken.get(account) === at) return false;
      taken.set(account, at);
      return true;
    },
  };
}
