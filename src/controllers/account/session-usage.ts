import type { LookupFunction } from "node:net";
import { type Account, type ClusterAccount, isClusterAccount } from "../../api/v1alpha1/account.ts";
import type { AccountRef } from "../../api/v1alpha1/meta.ts";
import type { AddressGuard } from "../../base/address-guard.ts";
import { parseYuan } from "../../base/money.ts";
import { keyOf } from "../../kube/types.ts";
import type { CallEvent } from "../../provider/call-options.ts";
import type { EndpointRecord } from "../../provider/endpoints/endpoint-record.ts";
import type { RecordBudget } from "../../provider/endpoints/record-budget.ts";
import { isCleanupOperation } from "../../provider/operations.ts";
import type { ResponseMemory } from "../../provider/response-memory.ts";
import type { ConnectionSettings } from "../../provider/session.ts";
import { operationMeter } from "../billing/meters.ts";
import type { ControllerDeps, Kind } from "../controller-deps.ts";
import { isPaused } from "../reconciler.ts";
import type { Dependants } from "./dependants.ts";
import type { AccountObservers, AccountUsage, LiveSettings } from "./handle.ts";
import { type Namespaces, namespaceRefusal, reportableKeys } from "./namespaces.ts";
import type { Probe } from "./probe.ts";
import type { AccountKey } from "./registry.ts";
import type { Servers } from "./servers.ts";
import { settingsOf, specVersion } from "./session-settings.ts";
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
  /** The service shows endpoints of the account again, after it showed none of them. */
  onEndpointsShown: (key: AccountKey) => void;
  onTask: (key: AccountKey, taskID: string) => void;
  onCall: (key: AccountKey, event: CallEvent) => void;
  /** Bills or budgets were read, or could not be: the account's status has news. */
  onMoney: (key: AccountKey) => void;
};

/** What the accounts' sessions need of it. */
export type SessionWiring = Omit<AccountWiring, "servers">;

/** What changes while a handle lives. */
export type MutableSettings = { -readonly [setting in keyof LiveSettings]: LiveSettings[setting] } & {
  /** Of the spec that was read last. */
  version: string;
  spending: ClusterAccount["spec"]["spending"];
  probe: { at: number; result: Probe } | undefined;
};

type SessionParts = {
  shared: ControllerDeps;
  store: Pick<Kind<Account | ClusterAccount>["store"], "get">;
  wiring: SessionWiring;
};

/** What a session asks the cluster about the use of its account. Each call reads the current state. */
export function usageOf(
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
    isOutdated() {
      const stored = store.get(keyOf(object));
      if (stored === undefined || isPaused(stored) || specVersion(stored) === facts.version) return false;
      return settingsOf(stored.spec) !== settingsOf(spec);
    },
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
export function observersOf(
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
    onEndpointsShown: () => wiring.onEndpointsShown(key),
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
