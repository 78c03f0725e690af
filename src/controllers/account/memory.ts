import type { LookupFunction } from "node:net";
import { type Account, type ClusterAccount, isClusterAccount, showsSpending } from "../../api/v1alpha1/account.ts";
import type { AccountRef } from "../../api/v1alpha1/meta.ts";
import type { AddressGuard } from "../../base/address-guard.ts";
import { parseYuan } from "../../base/money.ts";
import { isSameJSON } from "../../base/same-json.ts";
import { serviceAddress } from "../../base/service-address.ts";
import { keyOf } from "../../kube/types.ts";
import type { CallEvent } from "../../provider/call-options.ts";
import type { EndpointRecord } from "../../provider/endpoints/endpoint-record.ts";
import type { RecordBudget } from "../../provider/endpoints/record-budget.ts";
import { isCleanupOperation } from "../../provider/operations.ts";
import type { ResponseMemory } from "../../provider/response-memory.ts";
import type { ConnectionSettings } from "../../provider/session.ts";
import type { Result } from "../../runtime/controller.ts";
import { operationMeter } from "../billing/meters.ts";
import type { ControllerDeps, Kind } from "../controller-deps.ts";
import type { Dependants } from "./dependants.ts";
import { type AccountObservers, type AccountUsage, createAccountHandle, type LiveSettings } from "./handle.ts";
import { keyVersionOf } from "./key-version.ts";
import { type Namespaces, namespaceRefusal, reportableKeys } from "./namespaces.ts";
import type { Probe } from "./probe.ts";
import type { AccountHandle, AccountKey } from "./registry.ts";
import type { Servers } from "./servers.ts";
import { billingSettings } from "./session-settings.ts";
import { createSharing } from "./sharing.ts";

export type AccountWiring = {
  accountKind: AccountRef["kind"];
  /** Judges the addresses of the service; undefined allows all. */
  lookup: LookupFunction | undefined;
  /** Judges the addresses that results are copied from, by the account's spec. */
  resultLookup: (kind: AccountRef["kind"], spec: Account["spec"] | ClusterAccount["spec"]) => AddressGuard;
  /** Memory for large bodies of all accounts' responses. */
  memory: ResponseMemory;
  /** Memory for the records of all accounts' endpoints. */
  records: RecordBudget;
  servers: Servers;
  /** Opens the connections to the service. Default: sockets. */
  open?: ConnectionSettings["open"];
  namespaces: Namespaces;
  dependants: Omit<Dependants, "inFlight" | "ended">;
  /** Orphaned endpoints among the endpoints of the account. */
  orphansAmong: (records: readonly EndpointRecord[]) => EndpointRecord[];
  onEndpoint: (key: AccountKey, id: string, appName: string) => void;
  onTask: (key: AccountKey, taskID: string) => void;
  onCall: (key: AccountKey, event: CallEvent) => void;
  /** Bills or budgets were read, or could not be: the account's status has news. */
  onMoney: (key: AccountKey) => void;
};

/** What the accounts' sessions need of it. */
type SessionWiring = Omit<AccountWiring, "servers">;

/** An account that is gone is forgotten this long, at most, after its last endpoint. */
const DEPARTED_POLL_MS = 15_000;

/** What changes while a handle lives. */
type MutableSettings = { -readonly [setting in keyof LiveSettings]: LiveSettings[setting] } & {
  spending: ClusterAccount["spec"]["spending"];
  probe: { at: number; result: Probe } | undefined;
};
export type Memory = {
  settings: string;
  facts: MutableSettings;
  handle: AccountHandle;
  /** The account object is gone; kept for cleaning up after its endpoints. */
  departed: boolean;
};

/** The accounts that this process knows: what it takes to call the service for each, and what was learned of it. */
export type AccountMemory = {
  get(key: AccountKey): Memory | undefined;
  /** Forgets what is known of other terms of this process. Undefined: it does not serve the account. */
  beginTerm(key: AccountKey, term: number | undefined): Promise<void>;
  /** The account as its spec says now; a changed spec replaces the handle, a changed key does not. */
  remember(
    key: AccountKey,
    object: Account | ClusterAccount,
    apiKey: string,
  ): Promise<{ memory: Memory; changed: boolean }>;
  /** Whether what is known of an account that lost its key, or is gone itself, may serve to clean up. */
  cleanupOf(key: AccountKey): { cleanup?: boolean };
  /**
   * The account object is gone. A namespace is deleted in any order, so what it takes to clean up after the account's
   * endpoints is kept, in memory, until the last of them is gone.
   */
  depart(key: AccountKey): Promise<Result>;
};

export function createAccountMemory(
  shared: ControllerDeps,
  store: Pick<Kind<Account | ClusterAccount>["store"], "get">,
  wiring: SessionWiring,
): AccountMemory {
  const { accounts, clock } = shared;
  const parts = { shared, store, wiring };
  const memories = new Map<AccountKey, Memory>();
  const terms = new Map<AccountKey, number>();

  async function forget(key: AccountKey): Promise<void> {
    const memory = memories.get(key);
    memories.delete(key);
    terms.delete(key);
    accounts.remove(key);
    shared.estimates.forget(key);
    shared.usage.forget(key);
    shared.shareCosts.forget(key);
    await memory?.handle.close();
  }

  async function beginTerm(key: AccountKey, term: number | undefined): Promise<void> {
    const before = terms.get(key);
    if (before === term) return;
    // While nobody needed the account, nothing was remembered of its objects.
    if (before !== undefined && (before !== 0 || term === undefined)) {
      await forget(key);
      shared.admission.forget(key);
      shared.abandoned.forget(key);
    }
    if (term !== undefined) terms.set(key, term);
  }

  function cleanupOf(key: AccountKey): { cleanup?: boolean } {
    const memory = memories.get(key);
    const state = accounts.get(key)?.state;
    const refused =
      memory?.facts.probe?.result.authenticated === "False" ||
      (state?.kind === "Held" && state.reason === "Unauthorized");
    return memory === undefined || refused ? {} : { cleanup: true };
  }

  async function depart(key: AccountKey): Promise<Result> {
    const memory = memories.get(key);
    if (memory === undefined || !wiring.dependants.hasEndpoints(key)) {
      await forget(key);
      return undefined;
    }
    memory.departed = true;
    await memory.handle.tasks.stop();
    const held = { kind: "Held", reason: "AccountNotFound", message: `${key} was deleted` } as const;
    accounts.set(key, { state: { ...held, ...cleanupOf(key) }, handle: memory.handle });
    return { requeueAfterMs: DEPARTED_POLL_MS };
  }

  async function remember(key: AccountKey, object: Account | ClusterAccount, apiKey: string) {
    const { spec } = object;
    const { spending, shares } = sharedFieldsOf(spec);
    const { budget: _budget, billing: _billing, apiKeySecretRef: _ref, ...others } = spec;
    const { spending: _spending, shares: _shares, ...relevant }: typeof others & SharedFields = others;
    const settings = JSON.stringify({ ...relevant, baseURL: serviceAddress(spec.baseURL) });
    const keyVersion = keyVersionOf(apiKey, spec, `${shared.clusterUID}/${key}`);
    const known = memories.get(key);
    if (known?.settings === settings && !known.departed) {
      const changed = known.facts.apiKey !== apiKey;
      known.facts.apiKey = apiKey;
      known.facts.keyVersion = keyVersion;
      if (changed) known.handle.keyChanged();
      known.facts.billing = billingSettings(spec.billing);
      known.facts.budget = spec.budget;
      known.facts.spending = spending;
      if (!isSameJSON(known.facts.shares, shares)) known.facts.shares = shares;
      known.facts.showsSpending = showsSpending(spec);
      return { memory: known, changed };
    }
    const facts: MutableSettings = {
      apiKey,
      keyVersion,
      billing: billingSettings(spec.billing),
      budget: spec.budget,
      spending,
      shares,
      showsSpending: showsSpending(spec),
      probe: undefined,
    };
    const handle = createAccountHandle({
      key,
      spec,
      live: facts,
      usage: usageOf(parts, key, object, facts),
      observers: observersOf(parts, key, facts),
      lookup: wiring.lookup,
      resultLookup: wiring.resultLookup(wiring.accountKind, spec),
      memory: wiring.memory,
      records: wiring.records,
      open: wiring.open,
      clock,
      random: shared.random,
      log: shared.log.child({ account: key }),
    });
    const memory: Memory = { settings, facts, handle, departed: false };
    memories.set(key, memory);
    accounts.set(key, { state: { kind: "Checking" }, handle });
    await known?.handle.close();
    handle.start();
    return { memory, changed: true };
  }

  return { get: (key) => memories.get(key), beginTerm, remember, cleanupOf, depart };
}

type SessionParts = {
  shared: ControllerDeps;
  store: Pick<Kind<Account | ClusterAccount>["store"], "get">;
  wiring: SessionWiring;
};

/** Fields of a ClusterAccount whose change does not replace its handle. */
type SharedFields = Partial<Pick<ClusterAccount["spec"], "spending" | "shares">>;

function sharedFieldsOf(spec: Account["spec"] | ClusterAccount["spec"]): SharedFields {
  return "allowedNamespaces" in spec || "spending" in spec || "shares" in spec ? spec : {};
}

/** What the cluster says about the use of an account, as it is at each call. */
function usageOf(
  { shared, store, wiring }: SessionParts,
  key: AccountKey,
  object: Account | ClusterAccount,
  facts: Readonly<MutableSettings>,
): AccountUsage {
  const { spec } = object;
  const isReady = () => shared.accounts.get(key)?.state.kind === "Ready";
  return {
    held: (operation) => {
      const state = shared.accounts.get(key)?.state;
      // With a key that is gone from the cluster, endpoints are cleaned up and nothing else is sent.
      if (state?.kind !== "Held" || (state.cleanup === true && isCleanupOperation(operation))) return undefined;
      return state.message;
    },
    assertServing: () => shared.servers.assertServing(key),
    refusal: async (namespace) => {
      const selector = "allowedNamespaces" in spec ? spec.allowedNamespaces : undefined;
      if (selector === undefined) return undefined;
      return namespaceRefusal(object.metadata.name, selector, namespace, await wiring.namespaces.labels(namespace));
    },
    reportableKeys: async (namespace) =>
      isClusterAccount(object)
        ? reportableKeys(facts.spending, await wiring.namespaces.labels(namespace))
        : { kind: "All" },
    sharing: createSharing({
      account: key.replace("/", " "),
      shares: () => facts.shares,
      allowed: "allowedNamespaces" in spec ? spec.allowedNamespaces : undefined,
      namespaces: wiring.namespaces,
      spent: (namespaces) => shared.shareCosts.spent(key, namespaces),
      costOf(operation, quantity) {
        const { reservePerTask } = facts.budget ?? {};
        const cost =
          quantity === undefined ? undefined : shared.estimates.priceOf(key, operationMeter(operation), quantity);
        return cost ?? (reservePerTask === undefined ? undefined : parseYuan(reservePerTask));
      },
    }),
    // An account that showed endpoints once is observed further: orphans remain when the last object is deleted.
    endpointsWanted: () =>
      isReady() &&
      (wiring.dependants.hasEndpoints(key) || (store.get(keyOf(object))?.status?.endpoints?.total ?? 0) > 0),
    detailsWanted: () => isReady() && wiring.dependants.hasVolumes(key),
    moneyWanted: isReady,
    moneyUrgency: () => shared.admission.urgency(key),
    boundEndpoints: () => wiring.dependants.boundEndpoints(key),
  };
}

/** Tells the account's objects, its status and its metrics what its session observes. */
function observersOf(
  { shared, wiring }: SessionParts,
  key: AccountKey,
  facts: Readonly<MutableSettings>,
): AccountObservers {
  const silence = createSilenceCount((message) => shared.accounts.unreachable(key, message));
  return {
    onEndpoint: (id, appName) => wiring.onEndpoint(key, id, appName),
    onEndpointsListed: () => {
      const shown = shared.accounts.get(key)?.handle?.endpoints.observed.shown();
      if (shown !== undefined) shared.usage.listed(key, shown);
    },
    onTask: (taskID) => wiring.onTask(key, taskID),
    onMoneyRead: (readings) => {
      shared.admission.moneyRead(key, readings);
      wiring.onMoney(key);
    },
    onMoneyFailed: () => wiring.onMoney(key),
    collectMonth: (range, zone, signal) =>
      shared.estimates.collect({ account: key, settings: facts.billing, zone, range }, signal),
    onCall: (event) => {
      silence.heard(event);
      if (event.errorKind === "Forbidden" && event.status !== undefined) shared.accounts.doubt(key);
      wiring.onCall(key, event);
    },
    onObserverError: (error) => {
      if (isUnauthorized(error)) shared.accounts.unauthorized(key, `the service refuses the key: ${error.message}`);
    },
  };
}

/** Calls in a row that the service itself did not answer, before the account is held and probed. */
const SILENT_CALLS = 5;
const UNANSWERED: readonly (string | undefined)[] = ["Unreachable", "Timeout", "ConnectionLost", "GatewayError"];

function createSilenceCount(onSilence: (message: string) => void) {
  let silent = 0;
  return {
    heard({ operation, errorKind }: CallEvent): void {
      if (errorKind === "Aborted") return;
      silent = UNANSWERED.includes(errorKind) ? silent + 1 : 0;
      if (silent >= SILENT_CALLS) onSilence(`${silent} calls in a row were not answered (${operation}: ${errorKind})`);
    },
  };
}

function isUnauthorized(error: unknown): error is Error {
  return error instanceof Error && "kind" in error && error.kind === "Unauthorized";
}
