import type { LookupFunction } from "node:net";
import type { Logger } from "pino";
import type { AccountSpec, ClusterAccountSpec } from "../../api/v1alpha1/account.ts";
import type { Clock } from "../../clock.ts";
import { type Money, parseYuan } from "../../money.ts";
import type { Urgency } from "../../provider/money/budget-reader.ts";
import type { BillingSettings } from "../../provider/money/spend.ts";
import type { Operation } from "../../provider/operations.ts";
import { type ConnectionSettings, openSession, type SessionObservers } from "../../provider/session.ts";
import { type BudgetSpec, budgetState, type MoneyView, usedOf } from "./budget.ts";
import type { AccountHandle, AccountKey } from "./registry.ts";
import { sessionSettings } from "./session-settings.ts";
import { countVanished } from "./vanished.ts";

/** Read before each use: a change of the key, of `spec.billing` or of `spec.budget` does not replace the handle. */
export type LiveSettings = {
  readonly apiKey: string;
  readonly billing: BillingSettings;
  readonly budget: BudgetSpec | undefined;
};

/** What the cluster says about the use of the account. */
export type AccountUsage = {
  /** Why nothing may be sent now; undefined: it may. */
  held(operation: Operation): string | undefined;
  /** Whether objects of a namespace may use the account. */
  allows(namespace: string): Promise<boolean>;
  endpointsWanted(): boolean;
  /** Whether an endpoint has fields that only a complete read shows. */
  detailsWanted(): boolean;
  moneyWanted(): boolean;
  moneyUrgency(): Urgency;
  /** Identifiers of the endpoints that objects of the account are bound to. */
  boundEndpoints(): string[];
};

export type AccountObservers = Omit<SessionObservers, "onMoneyRead"> & {
  /** `used`: what is spent so far; the read began at `startedAt` (monotonic ms). */
  onMoneyRead: (used: Money | undefined, startedAt: number) => void;
};

export type HandleOptions = {
  key: AccountKey;
  spec: AccountSpec | ClusterAccountSpec;
  live: LiveSettings;
  usage: AccountUsage;
  observers: AccountObservers;
  /** Judges the addresses of the service; undefined allows all. */
  lookup: LookupFunction | undefined;
  /** Judges the addresses that results are copied from. */
  resultLookup: LookupFunction;
  /** Opens the connections to the service. Default: sockets. */
  open: ConnectionSettings["open"];
  clock: Clock;
  random: () => number;
  log: Logger;
};

/** An account's session, its budget and who may use it. It runs from `start` on. */
export function createAccountHandle(options: HandleOptions): AccountHandle {
  const { key, spec, live, usage, observers, lookup, clock, random, log } = options;
  const settings = sessionSettings(spec, () => live.apiKey, lookup);
  const { moneyUrgency } = usage;

  const session = openSession({
    connection: { ...settings.connection, open: options.open },
    rate: { ...settings.rate, startsEmpty: true },
    endpoints: { ...settings.endpoints, wanted: usage.endpointsWanted, detailsWanted: usage.detailsWanted },
    money: {
      billing: () => live.billing,
      wanted: usage.moneyWanted,
      memberID: () => live.budget?.memberID,
      billsUrgency: () => (live.budget?.monthlyLimit === undefined ? "None" : moneyUrgency()),
      budgetsUrgency: moneyUrgency,
    },
    observers: {
      ...observers,
      onMoneyRead: (startedAt) =>
        observers.onMoneyRead(live.budget === undefined ? undefined : usedOf(live.budget, view()), startedAt),
    },
    held: usage.held,
    clock,
    random,
    log,
  });
  const { endpoints, money } = session;

  function view(): MoneyView {
    const { bills, budgets } = money.failures();
    return {
      keys: money.budgets(),
      spentThisMonth: money.spend()?.month,
      failures: { keys: budgets, bills },
    };
  }

  function budget(): ReturnType<AccountHandle["budget"]> {
    if (live.budget === undefined) return undefined;
    return { spec: live.budget, state: budgetState(live.budget, view()), keys: money.budgets() };
  }

  return {
    ...session,
    key,
    maxSpeechCharacters: spec.speech.maxCharacters,
    allows: usage.allows,
    budget,
    allowance() {
      const { spec: held, state } = budget() ?? {};
      return {
        maxTasks: spec.maxConcurrentTasks,
        budget: held?.action === "HoldNew" ? state : undefined,
        reserve: held?.reservePerTask === undefined ? undefined : parseYuan(held.reservePerTask),
      };
    },
    resultLookup: options.resultLookup,
    vanished: (missing = { endpointID: undefined, memberID: undefined }) =>
      countVanished(usage.boundEndpoints(), endpoints.observed.shown(), missing),
  };
}
