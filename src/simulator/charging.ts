import { monthFrom, periodOf } from "./bills.ts";
import { identityOf, type KeyIdentity } from "./keys.ts";
import type { Charge } from "./ledger.ts";
import { refuse } from "./refusal.ts";
import type { Service } from "./service.ts";

/** Refuses a paid call if the balance or the key's budget is used up. */
export function checkMoney(service: Service, key: KeyIdentity): void {
  const { balance, enforceBudgets } = service.config();
  if (balance !== null && service.ledger.total() >= balance) throw refuse.noBalance();
  if (enforceBudgets && budgetsOf(service, undefined).some((budget) => budget.key_id === key.id && budget.exhausted)) {
    throw refuse.overBudget();
  }
}

/** Charges `usage` units. `unitPrice` is the price of `per` units; the amount is rounded up to 1/10000 yuan. */
export function chargeFor(
  service: Service,
  key: KeyIdentity,
  use: Pick<Charge, "productID" | "productName" | "category" | "usage" | "unitPrice"> & { per: number },
): void {
  const { per, ...charge } = use;
  service.ledger.charge({ ...charge, key, atMs: service.now(), amount: Math.ceil((use.usage * use.unitPrice) / per) });
}

/** Returns the budget records of one member or of all. `exhausted` is not part of the interface. */
export function budgetsOf(service: Service, memberID: string | undefined) {
  const { budgets, apiKeys, billingUtcOffsetHours } = service.config();
  const iso = (ms: number) => new Date(ms).toISOString().replace(".000", "");
  return budgets
    .filter((budget) => memberID === undefined || budget.memberID === memberID)
    .map((budget) => {
      const period =
        budget.monthsFrom === undefined
          ? periodOf(service.now(), "Month", billingUtcOffsetHours)
          : monthFrom(Date.parse(budget.monthsFrom), service.now());
      const keyID = budget.keyID ?? identityOf(apiKeys[0] ?? "", 0).id;
      const limited = budget.type !== "Unlimited";
      const since = budget.type === "Recurring" ? period.startMs : 0;
      const used = limited ? service.ledger.used(keyID, since) : 0;
      return {
        key_id: keyID,
        key_name: budget.keyName,
        budget_type: budget.type,
        budget_limit: limited ? budget.limit : 0,
        used,
        remaining: limited ? budget.limit - used : 0,
        ...(budget.type === "Recurring"
          ? { cycle: "Monthly", period_start: iso(period.startMs), period_end: iso(period.endMs) }
          : {}),
        exhausted: limited && used >= budget.limit,
      };
    });
}
