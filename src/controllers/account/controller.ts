import type { LookupFunction } from "node:net";
import type { Account, AccountSpec, AccountStatus, ClusterAccount } from "../../api/account.ts";
import { getCondition, isTrue } from "../../api/conditions.ts";
import { parseDuration } from "../../api/duration.ts";
import type { AccountRef } from "../../api/meta.ts";
import { ANNOTATIONS, FINALIZER } from "../../api/meta.ts";
import type { Reconcile, Result } from "../../runtime/controller.ts";
import type { EventRecorder } from "../../runtime/recorder.ts";
import { keyOf } from "../../runtime/store.ts";
import type { CallEvent } from "../../service/call.ts";
import type { EndpointRecord } from "../../service/endpoint-record.ts";
import type { Operation } from "../../service/operations.ts";
import type { EndpointLimits } from "../../service/schema/limits.ts";
import type { BillingSettings } from "../billing/spend.ts";
import { createValueReader, MissingReferenceError } from "../references.ts";
import { type Kind, patchStatus, type Shared, setFinalizer } from "../shared.ts";
import type { Dependants } from "./dependants.ts";
import { createAccountHandle } from "./handle.ts";
import { matchesLabels } from "./namespaces.ts";
import { type Probe, probeAccount } from "./probe.ts";
import { type AccountHandle, type AccountKey, accountKey } from "./registry.ts";
import { type AccountCounts, type AccountOutcome, accountStatus } from "./status.ts";

export type AccountWiring = {
  accountKind: AccountRef["kind"];
  /** For a namespaced Account: refuses private addresses. */
  lookup: LookupFunction | undefined;
  namespaceLabels: (namespace: string) => Promise<Record<string, string>>;
  dependants: Pick<Dependants, "boundEndpoints" | "endpoints" | "users">;
  /** Of the endpoints that the account shows, those that no object stands for although an operator made them. */
  orphansAmong: (records: readonly EndpointRecord[]) => EndpointRecord[];
  onEndpoint: (key: AccountKey, id: string, appName: string) => void;
  onTask: (key: AccountKey, taskID: string) => void;
  onCall: (key: AccountKey, event: CallEvent) => void;
  /** Bills or budgets were read: the account's status has news. */
  onMoney: (key: AccountKey) => void;
};

/** A changed Secret is seen within this time: Secrets are read by `get` only, never watched. */
const SECRET_POLL_MS = 15_000;
/** An account that is gone is forgotten this long, at most, after its last endpoint. */
const DEPARTED_POLL_MS = 15_000;

/** What cleaning up after an endpoint takes; nothing else is sent with a key that is gone from the cluster. */
const CLEANUP_OPERATIONS: readonly Operation[] = [
  "getEndpoint",
  "getEndpointEarlier",
  "listEndpoints",
  "listEndpointsEarlier",
  "updateEndpoint",
  "deleteEndpoint",
];

/** What changes while a handle lives. */
type Facts = {
  apiKey: string;
  limits: EndpointLimits | undefined;
  billing: BillingSettings;
  budget: AccountSpec["budget"];
  probe: { at: number; result: Probe } | undefined;
};
type Memory = {
  settings: string;
  facts: Facts;
  handle: AccountHandle;
  /** The account object is gone; kept for cleaning up after its endpoints. */
  departed: boolean;
};

/** How many orphans an event names. */
const NAMED = 5;

/** Reads the key, probes the service, and tells every dependant whether the account may be used. */
export function createAccountReconciler<T extends Account | ClusterAccount>(
  shared: Shared,
  kind: Kind<T>,
  wiring: AccountWiring,
): Reconcile {
  const { accounts, clock } = shared;
  const memories = new Map<AccountKey, Memory>();
  const reported = new Map<AccountKey, ReadonlySet<string>>();

  /** One event for what was not reported before, never a deletion. */
  function warnOfOrphans(key: AccountKey, object: T, orphans: readonly EndpointRecord[]): void {
    const before = reported.get(key);
    reported.set(key, new Set(orphans.map(({ id }) => id)));
    if (orphans.every(({ id }) => before?.has(id) === true)) return;
    const named = orphans.slice(0, NAMED).map(({ id, appName }) => `${id} (${appName})`);
    const more = orphans.length > NAMED ? ` and ${orphans.length - NAMED} more` : "";
    shared.recorder.event(
      object,
      "Warning",
      "OrphanedEndpoints",
      "Sweep",
      `${orphans.length} of the account's endpoints look generated and have no GpuEndpoint: ${named.join(", ")}${more}; they are left as they are`,
    );
  }

  async function forget(key: AccountKey): Promise<void> {
    const memory = memories.get(key);
    memories.delete(key);
    reported.delete(key);
    accounts.remove(key);
    await memory?.handle.dispose();
  }

  /** Whether what is known of an account that lost its key, or is gone itself, may serve to clean up. */
  function cleanupOf(key: AccountKey, memory: Memory | undefined): { cleanup?: boolean } {
    const state = accounts.get(key)?.state;
    const refused =
      memory?.facts.probe?.result.authenticated === "False" ||
      (state?.kind === "Held" && state.reason === "Unauthorized");
    return memory === undefined || refused ? {} : { cleanup: true };
  }

  /**
   * The account object is gone. A namespace is deleted in any order, so what it takes to clean up after the account's
   * endpoints is kept, in memory, until the last of them is gone.
   */
  async function depart(key: AccountKey): Promise<Result> {
    const memory = memories.get(key);
    if (memory === undefined || wiring.dependants.endpoints(key).total === 0) {
      await forget(key);
      return undefined;
    }
    memory.departed = true;
    await memory.handle.tasks.stop();
    const held = { kind: "Held", reason: "AccountNotFound", message: `${key} was deleted` } as const;
    accounts.set(key, { state: { ...held, ...cleanupOf(key, memory) }, handle: memory.handle });
    return { requeueAfterMs: DEPARTED_POLL_MS };
  }

  /** The account as its spec says now; a changed spec replaces the handle, a changed key does not. */
  async function remember(key: AccountKey, object: T, apiKey: string): Promise<{ memory: Memory; changed: boolean }> {
    const { spec } = object;
    const { budget: _budget, billing: _billing, apiKeySecretRef: _ref, ...relevant } = spec;
    const settings = JSON.stringify(relevant);
    const known = memories.get(key);
    if (known?.settings === settings && !known.departed) {
      const changed = known.facts.apiKey !== apiKey;
      known.facts.apiKey = apiKey;
      known.facts.billing = billingOf(spec.billing);
      known.facts.budget = spec.budget;
      return { memory: known, changed };
    }
    const facts: Facts = {
      apiKey,
      limits: undefined,
      billing: billingOf(spec.billing),
      budget: spec.budget,
      probe: undefined,
    };
    const silence = createSilenceCount((message) => accounts.unreachable(key, message));
    const handle = createAccountHandle({
      key,
      spec,
      apiKey: () => facts.apiKey,
      limits: () => facts.limits,
      billing: () => facts.billing,
      billsWanted: () => accounts.get(key)?.state.kind === "Ready",
      budget: () => facts.budget,
      moneyUrgency: () => shared.paidWork.urgency(key),
      onMoney: (used, startedAt) => {
        shared.paidWork.moneyRead(key, used, startedAt);
        wiring.onMoney(key);
      },
      allows: async (namespace) => {
        const selector = "allowedNamespaces" in spec ? spec.allowedNamespaces : undefined;
        return selector === undefined || matchesLabels(selector, await wiring.namespaceLabels(namespace));
      },
      lookup: wiring.lookup,
      clock,
      random: shared.random,
      log: shared.log.child({ account: key }),
      detailsWanted: () => accounts.get(key)?.state.kind === "Ready" && wiring.dependants.endpoints(key).withVolumes,
      // What was seen once is watched further: orphans remain when the last object has gone.
      endpointsWanted: () =>
        accounts.get(key)?.state.kind === "Ready" &&
        (wiring.dependants.endpoints(key).total > 0 ||
          (kind.store.get(keyOf(object))?.status?.endpoints?.total ?? 0) > 0),
      boundEndpoints: () => wiring.dependants.boundEndpoints(key),
      onEndpoint: (id, appName) => wiring.onEndpoint(key, id, appName),
      onTask: (taskID) => wiring.onTask(key, taskID),
      onCallError: (error) => {
        if (isUnauthorized(error)) accounts.unauthorized(key, `the service refuses the key: ${error.message}`);
      },
      onCall: (event) => {
        silence.heard(event);
        wiring.onCall(key, event);
      },
      held: (operation) => {
        const state = accounts.get(key)?.state;
        if (state?.kind !== "Held" || (state.cleanup === true && CLEANUP_OPERATIONS.includes(operation)))
          return undefined;
        return state.message;
      },
    });
    const memory: Memory = { settings, facts, handle, departed: false };
    memories.set(key, memory);
    accounts.set(key, { state: { kind: "Checking" }, handle });
    await known?.handle.dispose();
    handle.start();
    return { memory, changed: true };
  }

  return async (request, { signal }) => {
    const key = accountKey(wiring.accountKind, request.name, request.namespace);
    let object = kind.store.get(request.key);
    if (object === undefined) return depart(key);
    const deleted = object.metadata.deletionTimestamp !== undefined;
    const users = wiring.dependants.users(key);
    object = await setFinalizer(shared, kind, object, FINALIZER, users.total > 0, signal);
    if (deleted && users.total === 0) return undefined;
    if (!deleted && object.metadata.annotations?.[ANNOTATIONS.paused] === "true") return undefined;
    const asked = object.metadata.annotations?.[ANNOTATIONS.reconcileRequestedAt];
    const requested = asked !== undefined && asked !== object.status?.lastHandledReconcileAt;

    let outcome: AccountOutcome;
    let memory = memories.get(key);
    try {
      const remembered = await remember(key, object, await readKey(object, signal));
      memory = remembered.memory;
      const { facts } = memory;
      const due = facts.probe === undefined || clock.monotonic() >= facts.probe.at + facts.probe.result.againMs;
      const doubted = accounts.get(key)?.state.kind === "Held" && facts.probe?.result.state.kind === "Ready";
      if (due || doubted || remembered.changed || requested) {
        const result = await probeAccount(memory.handle.client, signal);
        facts.probe = { at: clock.monotonic(), result };
        facts.limits = result.limits ?? facts.limits;
      }
      const probe = facts.probe?.result;
      if (probe === undefined) throw new Error(`${key}: not probed`);
      accounts.set(key, { state: probe.state, handle: memory.handle, limits: facts.limits });
      outcome = { kind: "Probed", probe };
    } catch (error) {
      if (!(error instanceof MissingReferenceError)) throw error;
      const { reason, message } = error;
      const state = { kind: "Held", reason, message, ...cleanupOf(key, memory) } as const;
      accounts.set(key, { state, handle: memory?.handle });
      outcome = { kind: "NoKey", reason, message };
    }

    const listed = memory?.handle.endpoints.list();
    const orphans = listed === undefined ? undefined : wiring.orphansAmong(listed);
    if (orphans !== undefined) warnOfOrphans(key, object, orphans);
    const counts: AccountCounts = {
      total: listed?.length,
      managed: wiring.dependants.endpoints(key).managed,
      orphaned: orphans?.length,
      inFlight: memory?.handle.tasks.inFlight() ?? 0,
    };
    const status = accountStatus({
      object,
      outcome,
      counts,
      users: deleted ? users : undefined,
      handledRequest: requested ? asked : undefined,
      spend: memory?.handle.bills.spend(),
      budget: memory?.handle.budget(),
      now: clock.now(),
    });
    warnOfBudget(shared.recorder, object, status);
    await patchStatus(shared, kind, object, status, signal);
    return { requeueAfterMs: SECRET_POLL_MS };
  };

  async function readKey(object: T, signal: AbortSignal): Promise<string> {
    const ref = object.spec.apiKeySecretRef;
    const namespace = "namespace" in ref ? ref.namespace : (object.metadata.namespace ?? "");
    return createValueReader(shared.kube, signal).secretKey(namespace, ref);
  }
}

/** One event when the budget becomes exceeded; the condition says the rest. */
function warnOfBudget(recorder: EventRecorder, object: Account | ClusterAccount, status: AccountStatus): void {
  const exceeded = getCondition(status.conditions, "BudgetExceeded");
  if (exceeded?.status !== "True" || isTrue(object.status?.conditions, "BudgetExceeded")) return;
  recorder.event(object, "Warning", "BudgetExceeded", "Budget", exceeded.message);
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

function billingOf({ interval, timeZone, settleTime }: Account["spec"]["billing"]): BillingSettings {
  return { intervalMs: parseDuration(interval), timeZone, settleMs: parseDuration(settleTime) };
}

function isUnauthorized(error: unknown): error is Error {
  return error instanceof Error && "kind" in error && error.kind === "Unauthorized";
}
