import type { LookupFunction } from "node:net";
import type { Logger } from "pino";
import type { AccountSpec, ClusterAccountSpec } from "../../api/v1alpha1/account.ts";
import type { AccountShare } from "../../api/v1alpha1/account-shares.ts";
import type { AddressGuard } from "../../base/address-guard.ts";
import type { Clock } from "../../base/clock.ts";
import { parseYuan } from "../../base/money.ts";
import { serviceAddress } from "../../base/service-address.ts";
import type { RecordBudget } from "../../provider/endpoints/record-budget.ts";
import type { ReadTime } from "../../provider/money/money-reader.ts";
import type { BillingSettings, Urgency } from "../../provider/money/spend.ts";
import type { Operation } from "../../provider/operations.ts";
import type { ResponseMemory } from "../../provider/response-memory.ts";
import { type ConnectionSettings, openSession, type SessionObservers } from "../../provider/session.ts";
import type { BookReading } from "../../submission/allowance.ts";
import { keyedHashOf } from "../hash.ts";
import {
  type BudgetSpec,
  bookReadings,
  budgetState,
  type MoneyView,
  maxReadingAgeMs,
  withoutAmounts,
} from "./budget.ts";
import type { ReportableKeys } from "./namespaces.ts";
import type { AccountHandle, AccountKey } from "./registry.ts";
import { sessionSettings } from "./session-settings.ts";
import type { Sharing } from "./sharing.ts";
import { countVanished, type MissingEndpoint } from "./vanished.ts";

/** Read before each use: a change of the key, of `spec.billing`, `spec.budget`, `spec.shares` or `spec.spending` does not replace the handle. */
export type LiveSettings = {
  readonly apiKey: string;
  readonly keyVersion: string;
  readonly billing: BillingSettings;
  readonly budget: BudgetSpec | undefined;
  readonly shares: readonly AccountShare[] | undefined;
  /** Whether statuses and messages show amounts and API keys (ClusterAccount.spec.spending). */
  readonly showsSpending: boolean;
};

/** What the cluster says about the use of the account. */
export type AccountUsage = {
  /** Why nothing may be sent now; undefined: it may. */
  held(operation: Operation): string | undefined;
  /** Throws unless this process surely serves the account. */
  assertServing(): void;
  /** Whether the account's spec has changed since it was last read, so that another handle is about to replace this one. */
  isOutdated(): boolean;
  /** Why objects of a namespace may not use the account, and what to do; undefined: they may. */
  refusal(namespace: string): Promise<string | undefined>;
  /** The API keys whose bills BillReports of a namespace cover. */
  reportableKeys(namespace: string): Promise<ReportableKeys>;
  sharing: Sharing;
  endpointsWanted(): boolean;
  /** Whether an endpoint has fields that only a complete read shows. */
  detailsWanted(): boolean;
  moneyWanted(): boolean;
  moneyUrgency(): Urgency;
  /** Identifiers of the endpoints that objects of the account are bound to. */
  boundEndpoints(): string[];
};

export type AccountObservers = Omit<SessionObservers, "onMoneyRead"> & {
  /** The service shows endpoints of the account again, after `vanished` said that it shows none of them. */
  onEndpointsShown: () => void;
  /** Bills or budgets were read. `readings`: the books that the budget counts. */
  onMoneyRead: (readings: readonly BookReading[]) => void;
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
  resultLookup: AddressGuard;
  /** Memory for large bodies of responses. */
  memory: ResponseMemory;
  /** Memory for the records of all accounts' endpoints. */
  records: RecordBudget;
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
  /** An object waits until the service shows an endpoint of the account. */
  let noneShown = false;

  const session = openSession({
    connection: { ...settings.connection, open: options.open },
    rate: { ...settings.rate, startsEmpty: true },
    endpoints: {
      ...settings.endpoints,
      wanted: usage.endpointsWanted,
      detailsWanted: usage.detailsWanted,
      expected: () => usage.boundEndpoints().length,
    },
    money: {
      billing: () => live.billing,
      wanted: usage.moneyWanted,
      memberID: () => live.budget?.memberID,
      billsUrgency: () => (live.budget?.monthlyLimit === undefined ? "None" : moneyUrgency()),
      budgetsUrgency: moneyUrgency,
    },
    observers: {
      ...observers,
      onEndpointsListed() {
        observers.onEndpointsListed();
        if (!noneShown || vanished() > 0) return;
        noneShown = false;
        observers.onEndpointsShown();
      },
      onMoneyRead: () => observers.onMoneyRead(live.budget === undefined ? [] : bookReadings(live.budget, view())),
    },
    held: usage.held,
    assertServing: usage.assertServing,
    memory: options.memory,
    records: options.records,
    clock,
    random,
    log,
  });
  const { endpoints, money } = session;

  function vanished(missing: MissingEndpoint = { endpointID: undefined, memberID: undefined }): number {
    const count = countVanished(usage.boundEndpoints(), endpoints.observed.shown(), missing);
    if (count > 0 && missing.memberID === undefined) noneShown = true;
    return count;
  }

  function view(): MoneyView {
    const { bills, budgets } = money.failures();
    const lastRead = money.lastRead();
    const maxAgeMs = maxReadingAgeMs(live.billing.intervalMs);
    const isExpired = (time: ReadTime | undefined) =>
      time !== undefined && clock.monotonic() - time.monotonic > maxAgeMs;
    return {
      keys: money.budgets(),
      spentThisMonth: money.spend()?.month,
      unreadableBills: money.spend()?.unreadable ?? 0,
      lastRead: { keys: lastRead.budgets, bills: lastRead.bills },
      expired: { keys: isExpired(lastRead.budgets), bills: isExpired(lastRead.bills) },
      failures: { keys: budgets, bills },
    };
  }

  function budget(): ReturnType<AccountHandle["budget"]> {
    if (live.budget === undefined) return undefined;
    const state = budgetState(live.budget, view());
    if (live.showsSpending) return { spec: live.budget, state, keys: money.budgets() };
    return { spec: live.budget, state: withoutAmounts(state, key.replace("/", " ")), keys: undefined };
  }

  return {
    ...session,
    key,
    keyVersion: () => live.keyVersion,
    digest: (value) => keyedHashOf(value, live.apiKey.trim()),
    maxSpeechCharacters: spec.speech.maxCharacters,
    isOutdated: usage.isOutdated,
    refusal: usage.refusal,
    reportableKeys: usage.reportableKeys,
    sharing: usage.sharing,
    secretNamespace: "namespace" in spec.apiKeySecretRef ? spec.apiKeySecretRef.namespace : undefined,
    budget,
    allowance() {
      const { spec: held, state } = budget() ?? {};
      return {
        maxTasks: spec.maxConcurrentTasks,
        budget: held?.action === "HoldNew" ? state : undefined,
        reserve: held?.reservePerTask === undefined ? undefined : parseYuan(held.reservePerTask),
        settleMs: live.billing.settleMs,
        division: usage.sharing.division(),
      };
    },
    reuse: spec.reuse === "SameRequest",
    addressOf: (operation) => `${serviceAddress(spec.baseURL)}${settings.connection.paths?.[operation] ?? ""}`,
    resultLookup: options.resultLookup,
    vanished,
  };
}
