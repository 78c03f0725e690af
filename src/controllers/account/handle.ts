import type { LookupFunction } from "node:net";
import type { Logger } from "pino";
import type { AccountSpec, ClusterAccountSpec } from "../../api/v1alpha1/account.ts";
import { parseDuration } from "../../api/v1alpha1/duration.ts";
import type { Clock } from "../../clock.ts";
import { type Money, parseYuan } from "../../money.ts";
import { createServiceClient } from "../../provider/client.ts";
import { createEndpointSweep } from "../../provider/endpoints/sweep.ts";
import { createBreaker } from "../../provider/http/breaker.ts";
import type { CallEvent } from "../../provider/http/call.ts";
import { createLimiter } from "../../provider/http/limiter.ts";
import { createTransport } from "../../provider/http/transport.ts";
import { createBudgetReader } from "../../provider/money/budget-reader.ts";
import { type BillingSettings, createAccountBills } from "../../provider/money/spend.ts";
import type { Operation } from "../../provider/operations.ts";
import { createTaskPoller } from "../../provider/tasks/poller.ts";
import type { EndpointLimits } from "../../provider/wire/limits.ts";
import { type BudgetSpec, budgetState, usedOf } from "./budget.ts";
import { callSettings } from "./call-settings.ts";
import type { AccountHandle, AccountKey } from "./registry.ts";
import { countVanished } from "./vanished.ts";

export type HandleOptions = {
  key: AccountKey;
  spec: AccountSpec | ClusterAccountSpec;
  apiKey: () => string;
  limits: () => EndpointLimits | undefined;
  /** Read each time: a change of `spec.billing` does not replace the handle. */
  billing: () => BillingSettings;
  billsWanted: () => boolean;
  /** The same for `spec.budget`. */
  budget: () => BudgetSpec | undefined;
  moneyUrgency: () => "Settling" | "Waiting" | "None";
  /** `used`: what was spent so far; `startedAt` (monotonic ms): when that was asked for. */
  onMoney: (used: Money | undefined, startedAt: number) => void;
  /** Bills or budgets could not be read. */
  onMoneyFailed: () => void;
  allows: (namespace: string) => Promise<boolean>;
  /** Why nothing may be sent for the account now. */
  held: (operation: Operation) => string | undefined;
  /** Judges the addresses of the service; undefined allows all. */
  lookup: LookupFunction | undefined;
  /** Judges the addresses that results are copied from. */
  resultLookup: LookupFunction;
  clock: Clock;
  random: () => number;
  log: Logger;
  endpointsWanted: () => boolean;
  /** Whether an endpoint has what only the earlier generation shows. */
  detailsWanted: () => boolean;
  /** Identifiers of the endpoints that objects of the account are bound to. */
  boundEndpoints: () => string[];
  onEndpoint: (id: string, appName: string) => void;
  onTask: (taskID: string) => void;
  onCallError: (error: unknown) => void;
  onCall: (event: CallEvent) => void;
};

/** Details change with the volumes, which every sweep shows; this is how often they are read when nothing else says so. */
const DETAILS_EVERY_SWEEPS = 10;

/** Everything that runs for one account: one pool, one limiter, one sweep, one poller. It runs from `start` on. */
export function createAccountHandle(options: HandleOptions): AccountHandle & { start(): void } {
  const { spec, clock, random } = options;
  const { paths, requestsPerMinute } = callSettings(spec);
  const transport = createTransport({
    baseURL: spec.baseURL,
    apiKey: options.apiKey,
    requestTimeoutMs: parseDuration(spec.requestTimeout),
    ...(options.lookup === undefined ? {} : { connect: { lookup: options.lookup } }),
    clock,
  });
  const limiter = createLimiter({
    clock,
    random,
    startsEmpty: true,
    ...spec.rateLimit,
    requestsPerMinute,
  });
  const { generation, pageSize, syncInterval, deleteOperation } = spec.endpoints;
  const breaker = createBreaker({ clock, random, held: options.held, probe: "getEndpointLimits" });
  const client = createServiceClient({ transport, limiter, breaker, paths, deleteOperation, onCall: options.onCall });
  const intervalMs = parseDuration(syncInterval);
  const sweep = {
    client,
    pageSize,
    clock,
    log: options.log,
    onChange: options.onEndpoint,
    onError: options.onCallError,
  };
  const endpoints = createEndpointSweep({ ...sweep, generation, intervalMs, wanted: options.endpointsWanted });
  const details =
    generation === "Earlier"
      ? undefined
      : createEndpointSweep({
          ...sweep,
          generation: "Earlier",
          intervalMs: DETAILS_EVERY_SWEEPS * intervalMs,
          wanted: options.detailsWanted,
        });
  const tasks = createTaskPoller({ client, clock, random, onChange: options.onTask, onError: options.onCallError });
  const { billing: settings, billsWanted: wanted, log } = options;
  const view = () => ({
    keys: budgets.latest(),
    spentThisMonth: bills.spend()?.month,
    failures: { keys: budgets.failure(), bills: bills.failure() },
  });
  const onRead = (startedAt: number) => {
    const spec = options.budget();
    options.onMoney(spec === undefined ? undefined : usedOf(spec, view()), startedAt);
  };
  const bills = createAccountBills({
    client,
    settings,
    wanted,
    hurry: () => options.budget()?.monthlyLimit !== undefined && options.moneyUrgency() !== "None",
    onRead,
    onFailed: options.onMoneyFailed,
    clock,
    log,
  });
  const budgets = createBudgetReader({
    client,
    memberID: () => (wanted() ? options.budget()?.memberID : undefined),
    intervalMs: () => settings().intervalMs,
    urgency: options.moneyUrgency,
    onRead,
    onFailed: options.onMoneyFailed,
    clock,
    log,
  });
  const budget = () => {
    const spec = options.budget();
    return spec === undefined ? undefined : { spec, state: budgetState(spec, view()), keys: budgets.latest() };
  };
  return {
    key: options.key,
    baseURL: spec.baseURL,
    client,
    limiter,
    breaker,
    endpoints,
    generation,
    details,
    tasks,
    bills,
    budget,
    allowance() {
      const { spec: held, state } = budget() ?? {};
      return {
        maxTasks: spec.maxConcurrentTasks,
        budget: held?.action === "HoldNew" ? state : undefined,
        reserve: held?.reservePerTask === undefined ? undefined : parseYuan(held.reservePerTask),
      };
    },
    maxSpeechCharacters: spec.speech.maxCharacters,
    resultLookup: options.resultLookup,
    limits: options.limits,
    vanished: (missing = { endpointID: undefined, memberID: undefined }) =>
      countVanished(options.boundEndpoints(), endpoints.shown(), missing),
    allows: options.allows,
    start() {
      endpoints.start();
      details?.start();
      tasks.start();
      bills.start();
      budgets.start();
    },
    async dispose() {
      await Promise.all([endpoints.stop(), details?.stop(), tasks.stop(), bills.stop(), budgets.stop()]);
      await transport.close();
    },
  };
}
