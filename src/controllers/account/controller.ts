import type { LookupFunction } from "node:net";
import type { Account, ClusterAccount } from "../../api/account.ts";
import type { AccountRef } from "../../api/meta.ts";
import { ANNOTATIONS, FINALIZER } from "../../api/meta.ts";
import type { Reconcile } from "../../runtime/controller.ts";
import type { CallEvent } from "../../service/call.ts";
import type { EndpointLimits } from "../../service/schema/limits.ts";
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
  dependants: Pick<Dependants, "endpoints" | "users">;
  onEndpoint: (key: AccountKey, id: string, appName: string) => void;
  onTask: (key: AccountKey, taskID: string) => void;
  onCall: (key: AccountKey, event: CallEvent) => void;
};

/** A changed Secret is seen within this time: Secrets are read by `get` only, never watched. */
const SECRET_POLL_MS = 15_000;

/** What changes while a handle lives. */
type Facts = {
  apiKey: string;
  limits: EndpointLimits | undefined;
  probe: { at: number; result: Probe } | undefined;
};
type Memory = { settings: string; facts: Facts; handle: AccountHandle };

/** Reads the key, probes the service, and tells every dependant whether the account may be used. */
export function createAccountReconciler<T extends Account | ClusterAccount>(
  shared: Shared,
  kind: Kind<T>,
  wiring: AccountWiring,
): Reconcile {
  const { accounts, clock } = shared;
  const memories = new Map<AccountKey, Memory>();

  async function forget(key: AccountKey): Promise<void> {
    const memory = memories.get(key);
    memories.delete(key);
    accounts.remove(key);
    await memory?.handle.dispose();
  }

  /** The account as its spec says now; a changed spec replaces the handle, a changed key does not. */
  async function remember(key: AccountKey, object: T, apiKey: string): Promise<{ memory: Memory; changed: boolean }> {
    const { spec } = object;
    const { budget: _budget, billing: _billing, apiKeySecretRef: _ref, ...relevant } = spec;
    const settings = JSON.stringify(relevant);
    const known = memories.get(key);
    if (known?.settings === settings) {
      const changed = known.facts.apiKey !== apiKey;
      known.facts.apiKey = apiKey;
      return { memory: known, changed };
    }
    const facts: Facts = { apiKey, limits: undefined, probe: undefined };
    const silence = createSilenceCount((message) => accounts.unreachable(key, message));
    const handle = createAccountHandle({
      key,
      spec,
      apiKey: () => facts.apiKey,
      limits: () => facts.limits,
      allows: async (namespace) => {
        const selector = "allowedNamespaces" in spec ? spec.allowedNamespaces : undefined;
        return selector === undefined || matchesLabels(selector, await wiring.namespaceLabels(namespace));
      },
      lookup: wiring.lookup,
      clock,
      random: shared.random,
      log: shared.log.child({ account: key }),
      detailsWanted: () => accounts.get(key)?.state.kind === "Ready" && wiring.dependants.endpoints(key).withVolumes,
      endpointsWanted: () => accounts.get(key)?.state.kind === "Ready" && wiring.dependants.endpoints(key).total > 0,
      onEndpoint: (id, appName) => wiring.onEndpoint(key, id, appName),
      onTask: (taskID) => wiring.onTask(key, taskID),
      onCallError: (error) => {
        if (isUnauthorized(error)) accounts.unauthorized(key, `the service refuses the key: ${error.message}`);
      },
      onCall: (event) => {
        silence.heard(event);
        wiring.onCall(key, event);
      },
      held: () => {
        const state = accounts.get(key)?.state;
        return state?.kind === "Held" ? state.message : undefined;
      },
    });
    const memory: Memory = { settings, facts, handle };
    memories.set(key, memory);
    accounts.set(key, { state: { kind: "Checking" }, handle });
    await known?.handle.dispose();
    handle.endpoints.start();
    handle.details?.start();
    handle.tasks.start();
    return { memory, changed: true };
  }

  return async (request, { signal }) => {
    const key = accountKey(wiring.accountKind, request.name, request.namespace);
    let object = kind.store.get(request.key);
    if (object === undefined) {
      await forget(key);
      return undefined;
    }
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
      accounts.set(key, { state: { kind: "Held", reason, message }, handle: memory?.handle });
      outcome = { kind: "NoKey", reason, message };
    }

    const counts = countsOf(wiring.dependants.endpoints(key).managed, memory?.handle);
    const { generation } = object.metadata;
    const status = accountStatus(
      object.status,
      generation,
      outcome,
      counts,
      deleted ? users : undefined,
      requested ? asked : undefined,
      clock.now(),
    );
    await patchStatus(shared, kind, object, status, signal);
    return { requeueAfterMs: SECRET_POLL_MS };
  };

  async function readKey(object: T, signal: AbortSignal): Promise<string> {
    const ref = object.spec.apiKeySecretRef;
    const namespace = "namespace" in ref ? ref.namespace : (object.metadata.namespace ?? "");
    return createValueReader(shared.kube, signal).secretKey(namespace, ref);
  }
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

function countsOf(managed: number, handle: AccountHandle | undefined): AccountCounts {
  return { total: handle?.endpoints.total(), managed, inFlight: handle?.tasks.inFlight() ?? 0 };
}

function isUnauthorized(error: unknown): error is Error {
  return error instanceof Error && "kind" in error && error.kind === "Unauthorized";
}
