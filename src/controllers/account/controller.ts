import type { Account, AccountStatus, ClusterAccount } from "../../api/v1alpha1/account.ts";
import { getCondition, isTrue } from "../../api/v1alpha1/conditions.ts";
import { ANNOTATIONS, FINALIZER } from "../../api/v1alpha1/meta.ts";
import type { EndpointRecord } from "../../provider/endpoints/endpoint-record.ts";
import type { Reconcile } from "../../runtime/controller.ts";
import type { EventRecorder } from "../../runtime/recorder.ts";
import { createValueReader, MissingReferenceError } from "../references.ts";
import { type Kind, patchStatus, type Shared, setFinalizer } from "../shared.ts";
import { type AccountWiring, createAccountMemory } from "./memory.ts";
import { probeAccount } from "./probe.ts";
import { type AccountKey, accountKey } from "./registry.ts";
import { type AccountCounts, type AccountOutcome, accountStatus } from "./status.ts";

/** A changed Secret is seen within this time: Secrets are read by `get` only, never watched. */
const SECRET_POLL_MS = 15_000;
/** How many orphans an event names. */
const NAMED = 5;

/** Reads the key, probes the service, and tells every dependant whether the account may be used. */
export function createAccountReconciler<T extends Account | ClusterAccount>(
  shared: Shared,
  kind: Kind<T>,
  wiring: AccountWiring,
): Reconcile {
  const { accounts, clock } = shared;
  const memories = createAccountMemory(shared, kind.store, wiring);
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

  return async (request, { signal }) => {
    const key = accountKey(wiring.accountKind, request.name, request.namespace);
    let object = kind.store.get(request.key);
    if (object === undefined) {
      const again = await memories.depart(key);
      if (again === undefined) reported.delete(key);
      return again;
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
      const remembered = await memories.remember(key, object, await readKey(object, signal));
      memory = remembered.memory;
      const { facts } = memory;
      const due = facts.probe === undefined || clock.monotonic() >= facts.probe.at + facts.probe.result.againMs;
      const doubted = accounts.get(key)?.state.kind === "Held" && facts.probe?.result.state.kind === "Ready";
      if (due || doubted || remembered.changed || requested) {
        facts.probe = { at: clock.monotonic(), result: await probeAccount(memory.handle, signal) };
      }
      const probe = facts.probe?.result;
      if (probe === undefined) throw new Error(`${key}: not probed`);
      const { handle } = memory;
      accounts.set(key, { state: probe.state, handle, limits: handle.endpoints.limits() });
      outcome = { kind: "Probed", probe };
    } catch (error) {
      if (!(error instanceof MissingReferenceError)) throw error;
      const { reason, message } = error;
      const state = { kind: "Held", reason, message, ...memories.cleanupOf(key) } as const;
      accounts.set(key, { state, handle: memory?.handle });
      outcome = { kind: "NoKey", reason, message };
    }

    const listed = memory?.handle.endpoints.observed.list();
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
      spend: memory?.handle.money.spend(),
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
