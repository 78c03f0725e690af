import type { AccountSpec, AccountStatus } from "../../api/v1alpha1/account.ts";
import type { ConditionUpdate } from "../../api/v1alpha1/conditions.ts";
import { rfc3339 } from "../../base/clock.ts";
import { formatYuan, type Money, parseYuan } from "../../base/money.ts";
import type { ReadTime } from "../../provider/money/money-reader.ts";
import type { KeyBudget } from "../../provider/money/money-records.ts";
import type { BookReading, BudgetState } from "../../submission/allowance.ts";

const SHOWN_BUDGETS = 100;

export type BudgetSpec = NonNullable<AccountSpec["budget"]>;

/** What is known of an account's money; a part is undefined until it was read. */
export type MoneyView = {
  keys: readonly KeyBudget[] | undefined;
  /** What the calendar month cost so far, by the bills. */
  spentThisMonth: Money | undefined;
  /** Bills of the month whose amount cannot be read: what the month cost is not known then. */
  unreadableBills?: number;
  /** When the last read of each part that succeeded began. */
  lastRead?: { keys: ReadTime | undefined; bills: ReadTime | undefined };
  /** Parts that were read longer ago than `maxReadingAgeMs`, which do not count any more. */
  expired?: { keys: boolean; bills: boolean };
  /** Why the last reading of a part failed. */
  failures?: { keys: string | undefined; bills: string | undefined };
};

/** A reading counts for two intervals and a minute: one read may fail or come late. `intervalMs`: `billing.interval`. */
export const maxReadingAgeMs = (intervalMs: number): number => 2 * intervalMs + 60_000;

/** What the budget of an account leaves for new paid work: the least of what its key budgets and its bills leave. Pure. */
export function budgetState(spec: BudgetSpec, view: MoneyView): BudgetState {
  const states = [
    ...(spec.memberID === undefined ? [] : [keyState(spec, view)]),
    ...(spec.monthlyLimit === undefined ? [] : [monthState(spec.monthlyLimit, view)]),
  ];
  const unknown = states.find(({ kind }) => kind === "Unknown");
  const limited = states.filter((state) => state.kind === "Limited");
  const [first] = limited.sort((a, b) => (a.headroom < b.headroom ? -1 : a.headroom > b.headroom ? 1 : 0));
  // An exceeded part decides, even if another part cannot be read.
  if (first !== undefined && first.headroom <= 0n) return first;
  return unknown ?? first ?? { kind: "Unlimited", message: "No budget limits the account" };
}

/** The state without amounts and API keys. `account`: as messages call it. */
export function withoutAmounts(state: BudgetState, account: string): BudgetState {
  if (state.kind !== "Limited") return state;
  const hidden = `${account} does not show amounts (spending.showInStatus)`;
  return { ...state, message: state.headroom > 0n ? hidden : `The budget is exceeded; ${hidden}` };
}

/** The books that the budget counts, as they were read last: a rise shows what tasks have cost. */
export function bookReadings(spec: BudgetSpec, view: MoneyView): BookReading[] {
  const { memberID, keyID, monthlyLimit } = spec;
  const { keys, bills } = view.lastRead ?? {};
  const startedAt = (time: ReadTime | undefined) => time?.monotonic ?? Number.NEGATIVE_INFINITY;
  return [
    ...(memberID === undefined
      ? []
      : [{ book: JSON.stringify(["keys", memberID, keyID]), used: usedOf(spec, view), startedAt: startedAt(keys) }]),
    ...(monthlyLimit === undefined ? [] : [{ book: "bills", used: view.spentThisMonth, startedAt: startedAt(bills) }]),
  ];
}

/** What the key budgets that count have used; without a member, what the month has cost. undefined: not known. */
export function usedOf(spec: BudgetSpec, { keys, spentThisMonth }: MoneyView): Money | undefined {
  if (spec.memberID === undefined) return spentThisMonth;
  return keys && sumOf(counted(spec, keys).map(({ used }) => used));
}

/** undefined: a part cannot be read. */
function sumOf(parts: readonly (Money | undefined)[]): Money | undefined {
  return parts.reduce<Money | undefined>(
    (sum, part) => (sum === undefined || part === undefined ? undefined : sum + part),
    0n,
  );
}

const counted = ({ keyID }: BudgetSpec, keys: readonly KeyBudget[]) =>
  keyID === undefined ? keys : keys.filter((key) => key.keyID === keyID);

function expiredState(what: string, readAt: ReadTime | undefined, failure: string | undefined): BudgetState {
  const since = readAt === undefined ? "" : ` since ${rfc3339(readAt.at)}`;
  const cause = failure === undefined ? "" : `: ${failure}`;
  const message = `${what} were not read${since}, which is longer than twice billing.interval and a minute${cause}`;
  return { kind: "Unknown", message };
}

/** Nothing is read yet, or it cannot be. */
function unread(what: string, failure: string | undefined): BudgetState {
  return {
    kind: "Unknown",
    message: failure === undefined ? `${what} are not read yet` : `${what} cannot be read: ${failure}`,
  };
}

function keyState(spec: BudgetSpec, { keys, lastRead, expired, failures }: MoneyView): BudgetState {
  const { memberID, keyID, minRemaining } = spec;
  if (expired?.keys === true) {
    return expiredState(`The key budgets of member ${memberID}`, lastRead?.keys, failures?.keys);
  }
  if (keys === undefined) return unread(`The key budgets of member ${memberID}`, failures?.keys);
  const found = counted(spec, keys);
  if (found.length === 0) {
    const what = keyID === undefined ? "no key budget" : `no budget of key ${keyID}`;
    return { kind: "Unknown", message: `Member ${memberID} has ${what}: correct spec.budget` };
  }
  const limits = found.filter(isLimited);
  let least: { key: KeyBudget; remaining: Money } | undefined;
  for (const key of limits) {
    const remaining = remainingOf(key);
    if (remaining === undefined) {
      const message = `A key budget of member ${memberID} shows no amount that can be read`;
      return { kind: "Unknown", message };
    }
    if (least === undefined || remaining < least.remaining) least = { key, remaining };
  }
  if (least === undefined) return { kind: "Unlimited", message: `The key budgets of member ${memberID} are unlimited` };
  const keep = minRemaining === undefined ? 0n : parseYuan(minRemaining);
  const kept = keep === 0n ? "" : `, of which ${formatYuan(keep)} have to be left`;
  return {
    kind: "Limited",
    headroom: least.remaining - keep,
    message: `Key ${nameOf(least.key)} has ${formatYuan(least.remaining)} yuan left${kept}`,
  };
}

const nameOf = ({ keyName, keyID }: KeyBudget) => (keyName === "" ? keyID : keyName);

/** An unknown kind of budget counts by its numbers. */
const isLimited = ({ type }: KeyBudget) => type.toLowerCase() !== "unlimited";

/** undefined: it cannot be read. */
function remainingOf({ limit, used, remaining }: KeyBudget): Money | undefined {
  if (remaining !== undefined) return remaining;
  return limit === undefined || used === undefined ? undefined : limit - used;
}

function monthState(monthlyLimit: string, view: MoneyView): BudgetState {
  const { spentThisMonth: spent, unreadableBills = 0, lastRead, expired, failures } = view;
  if (expired?.bills === true) return expiredState("The bills of the month", lastRead?.bills, failures?.bills);
  if (unreadableBills > 0) {
    const message = `What the month has cost is not known: ${unreadableBills} of its bills have an amount that is not an integer of 1/10000 yuan`;
    return { kind: "Unknown", message };
  }
  if (spent === undefined) return unread("The bills of the month", failures?.bills);
  return {
    kind: "Limited",
    headroom: parseYuan(monthlyLimit) - spent,
    message: `The month has cost ${formatYuan(spent)} of ${monthlyLimit} yuan`,
  };
}

/** `status.budgets`. Times that cannot be read are left out. */
export function shownBudgets(keys: readonly KeyBudget[]): NonNullable<AccountStatus["budgets"]> {
  const money = (name: "limit" | "used" | "remaining", key: KeyBudget) =>
    key[name] === undefined ? {} : { [name]: formatYuan(key[name]) };
  const time = (name: "periodStart" | "periodEnd", key: KeyBudget) =>
    Number.isNaN(Date.parse(key[name])) ? {} : { [name]: rfc3339(Date.parse(key[name])) };
  return keys.slice(0, SHOWN_BUDGETS).map((key) => ({
    keyID: key.keyID,
    ...(key.keyName === "" ? {} : { keyName: key.keyName }),
    type: key.type,
    ...money("limit", key),
    ...money("used", key),
    ...money("remaining", key),
    ...(key.cycle === "" ? {} : { cycle: key.cycle }),
    ...time("periodStart", key),
    ...time("periodEnd", key),
  }));
}

/** The condition BudgetExceeded of an account that has a budget. */
export function budgetCondition(action: BudgetSpec["action"], state: BudgetState): ConditionUpdate {
  const type = "BudgetExceeded";
  if (state.kind === "Unknown") return { type, status: "Unknown", reason: "BudgetUnknown", message: state.message };
  if (state.kind === "Unlimited" || state.headroom > 0n) {
    return { type, status: "False", reason: "WithinBudget", message: state.message };
  }
  const effect = action === "HoldNew" ? "new paid work waits" : "nothing is held, as action is Warn";
  return { type, status: "True", reason: "BudgetExceeded", message: `${state.message}: ${effect}` };
}
