import { type Account, type ClusterAccount, isClusterAccount } from "../../api/v1alpha1/account.ts";
import type { Reconcile, ReconcileContext, Result } from "../../runtime/controller.ts";
import { readPrices } from "../billing/prices.ts";
import type { ControllerDeps, Kind } from "../controller-deps.ts";
import { createReconciler, PAUSED_MESSAGE, reconcileRequestOf } from "../reconciler.ts";
import { assertValidSpec, createValueReader, StalledError } from "../references.ts";
import { announceStall } from "../report.ts";
import { announceKey, createOrphanEvents, warnOfBudget, warnOfList } from "./events.ts";
import { createAccountMemory, type Memory } from "./memory.ts";
import { probeAccount } from "./probe.ts";
import { readSharing, shareFaultsOf } from "./read-sharing.ts";
import { type AccountKey, accountKey } from "./registry.ts";
import { SECRET_POLL_MS, secretPollMs } from "./secret-poll.ts";
import type { Served } from "./servers.ts";
import type { AccountWiring } from "./session-usage.ts";
import { createShareReports } from "./share-reports.ts";
import { type AccountCounts, type AccountOutcome, accountStatus } from "./status.ts";

/** An account that this process serves or probes. */
type Present<T> = Extract<Served<T>, { object: T }>;

/** A 403 has the account probed, at most once in this time. */
const DOUBT_MS = 30_000;
/** Reads the key, probes the service, and tells every dependant whether the account may be used. */
export function createAccountReconciler<T extends Account | ClusterAccount>(
  shared: ControllerDeps,
  kind: Kind<T>,
  wiring: AccountWiring,
): Reconcile {
  const { accounts, clock } = shared;
  const memories = createAccountMemory(shared, kind.store, wiring);
  const orphanEvents = createOrphanEvents(shared.recorder);
  const shareReports = createShareReports(shared, (key) => wiring.dependants.endpointPlaces(key));
  const keyFor = ({ name, namespace }: { name: string; namespace?: string | undefined }) =>
    accountKey(wiring.accountKind, name, namespace);

  return createReconciler<T>({
    kind,
    clock,
    async forgetDeleted(request) {
      const key = keyFor(request);
      wiring.servers.depart(key);
      const again = await memories.depart(key);
      shared.abandoned.check(key);
      if (again === undefined) {
        wiring.servers.forget(key);
        orphanEvents.forget(key);
        shareReports.forget(key);
      }
      return again;
    },
    finalize: whileServed(async (key, served, signal) => {
      const guarded = await guard(key, served, signal);
      if (!wiring.dependants.hasUsers(key)) return undefined;
      return observe(key, guarded, reconcileRequestOf(guarded.object), signal);
    }),
    reconcile: (present, requested, context) =>
      whileServed(async (key, served, signal) => observe(key, await guard(key, served, signal), requested, signal))(
        present,
        context,
      ),
    pause: whileServed(async (key, served, signal) => {
      await guard(key, served, signal);
      holdUnknown(key);
      return undefined;
    }),
  });

  /** Runs `step` with the account, unless another process serves it: then nothing of it is remembered. */
  function whileServed(step: (key: AccountKey, served: Present<T>, signal: AbortSignal) => Promise<Result>) {
    return async (present: T, { signal }: ReconcileContext): Promise<Result> => {
      const key = keyFor(present.metadata);
      const served = await wiring.servers.serve<T>(key, { kind, object: present }, signal);
      if (served.kind === "Between") return { requeueAfterMs: served.againMs };
      if (served.kind === "Other") {
        await memories.beginTerm(key, undefined);
        const { message, againMs } = served;
        if (message !== undefined) {
          const state = { kind: "Held", reason: "ServedByAnotherInstallation", message } as const;
          accounts.set(key, { state, handle: undefined });
        }
        return { requeueAfterMs: againMs };
      }
      await memories.beginTerm(key, served.term);
      return step(key, served, signal);
    };
  }

  /** The finalizer keeps an account while objects need it. */
  async function guard(key: AccountKey, served: Present<T>, signal: AbortSignal): Promise<Present<T>> {
    return { ...served, object: await kind.setFinalizer(served.object, wiring.dependants.hasUsers(key), signal) };
  }

  /** Before its first probe since the start, nothing is known of a paused account: its objects would wait without a reason. */
  function holdUnknown(key: AccountKey): void {
    const { state = { kind: "Checking" }, handle } = accounts.get(key) ?? {};
    if (state.kind !== "Checking") return;
    accounts.set(key, { state: { kind: "Held", reason: "Paused", message: PAUSED_MESSAGE }, handle });
  }

  async function observe(key: AccountKey, served: Present<T>, requested: string | undefined, signal: AbortSignal) {
    const { object } = served;
    shared.abandoned.restore(key, object.status?.tasks?.abandoned ?? []);
    const { prices: shownPrices } = object.status ?? {};
    if (shownPrices !== undefined && shared.estimates.prices(key) === undefined) {
      shared.estimates.restorePrices(key, readPrices(shownPrices));
    }
    const { outcome, memory } = await probe(key, object, requested !== undefined, signal);
    shared.abandoned.check(key);
    shared.admission.recheck(key);
    const listed = memory?.handle.endpoints.observed.list();
    const orphans = listed === undefined ? undefined : wiring.orphansAmong(listed);
    if (orphans !== undefined) orphanEvents.report(key, object, orphans, memory?.handle.sanitizer());
    const counts: AccountCounts = {
      total: listed?.length,
      managed: wiring.dependants.managedEndpoints(key),
      orphaned: orphans?.length,
      inFlight: memory?.handle.tasks.inFlight() ?? 0,
      abandoned: shared.abandoned.shown(key),
      unbilled: shared.admission.unbilled(key),
    };
    const status = accountStatus({
      object,
      server: served.kind === "Unneeded" ? served.server : undefined,
      outcome,
      counts,
      users: object.metadata.deletionTimestamp === undefined ? undefined : wiring.dependants.users(key),
      handledRequest: requested,
      listFailure: memory?.handle.endpoints.observed.failure(),
      spend: memory?.handle.money.spend(),
      prices: shared.estimates.prices(key),
      unpaid: shared.admission.balance(key),
      shareFaults: isInvalid(outcome) ? undefined : shareFaultsOf(object, wiring.namespaces.known()),
      budget: memory?.handle.budget(),
      now: clock.now(),
    });
    warnOfBudget(shared.recorder, object, status);
    warnOfList(shared.recorder, object, status);
    announceStall(shared.recorder, object, status, "Probe");
    await kind.patchStatus(object, status, signal);
    if (isClusterAccount(object) && memory !== undefined) await shareReports.write(object, memory.handle, signal);
    const isReady = accounts.get(key)?.state.kind === "Ready";
    const pollMs = secretPollMs(isReady, kind.store.size());
    // Without a key, the last probe is not repeated, however old it is.
    const probed = outcome.kind === "NoKey" ? undefined : memory?.facts.probe;
    return { requeueAfterMs: Math.min(pollMs, probeDueMs(probed)) };
  }

  /** When the account is probed again. */
  function probeDueMs(probe: Memory["facts"]["probe"]): number {
    if (probe === undefined) return SECRET_POLL_MS;
    return Math.max(0, probe.at + probe.result.againMs - clock.monotonic());
  }

  /** Reads the key, and asks the service when the last probe is too old. */
  async function probe(key: AccountKey, object: T, requested: boolean, signal: AbortSignal) {
    let memory = memories.get(key);
    try {
      assertValidSpec(kind.resource, object.spec);
      const apiKey = await readKey(object, signal);
      if (memory?.departed === false) announceKey(shared.recorder, object, memory.facts.apiKey, apiKey);
      const remembered = await memories.remember(key, object, apiKey);
      memory = remembered.memory;
      const { facts } = memory;
      await readSharing({ shared, wiring }, key, object, signal);
      const entry = accounts.get(key);
      const agoMs = facts.probe === undefined ? Number.POSITIVE_INFINITY : clock.monotonic() - facts.probe.at;
      const due = facts.probe === undefined || agoMs >= facts.probe.result.againMs;
      const held = entry?.state.kind === "Held" && facts.probe?.result.state.kind === "Ready";
      let doubted = entry?.doubted === true;
      if (due || held || (doubted && agoMs >= DOUBT_MS) || remembered.changed || requested) {
        facts.probe = { at: clock.monotonic(), result: await probeAccount(memory.handle, signal, facts.probe?.result) };
        doubted = false;
      }
      const last = facts.probe?.result;
      if (last === undefined) throw new Error(`${key}: not probed`);
      const { handle } = memory;
      accounts.set(key, {
        state: last.state,
        handle,
        limits: handle.endpoints.limits(),
        doubted,
        ...(facts.spending === undefined ? {} : { spending: facts.spending }),
        ...(facts.shares === undefined ? {} : { shares: facts.shares }),
      });
      const outcome: AccountOutcome = { kind: "Probed", probe: last };
      return { outcome, memory };
    } catch (error) {
      if (!(error instanceof StalledError)) throw error;
      const { reason, message } = error;
      const state = { kind: "Held", reason, message, ...memories.cleanupOf(key) } as const;
      accounts.set(key, { state, handle: memory?.handle });
      const outcome: AccountOutcome = { kind: "NoKey", reason, message };
      return { outcome, memory };
    }
  }

  function readKey(object: T, signal: AbortSignal): Promise<string> {
    return createValueReader(shared.kube, signal).secretKey(secretNamespace(object), object.spec.apiKeySecretRef);
  }
}

const isInvalid = (outcome: AccountOutcome) => outcome.kind === "NoKey" && outcome.reason === "InvalidSpec";

function secretNamespace(object: Account | ClusterAccount): string {
  return isClusterAccount(object) ? object.spec.apiKeySecretRef.namespace : object.metadata.namespace;
}
