import { createHash } from "node:crypto";
import type { ArtifactStore } from "../../api/v1alpha1/artifact-store.ts";
import { getCondition } from "../../api/v1alpha1/conditions.ts";
import { ANNOTATIONS } from "../../api/v1alpha1/meta.ts";
import { ArtifactError } from "../../artifacts/errors.ts";
import type { HandleOptions } from "../../artifacts/handle.ts";
import { openStore, type StoreOptions } from "../../artifacts/open-store.ts";
import type { ArtifactStoreHandle } from "../../artifacts/types.ts";
import type { Reconcile } from "../../runtime/controller.ts";
import { createValueReader, MissingReferenceError, secretResource } from "../references.ts";
import { type Kind, patchStatus, type Shared } from "../shared.ts";
import type { StoreKey, StoreRegistry } from "./registry.ts";
import { locationOf, type StoreWiring, settingsOf } from "./settings.ts";
import { artifactStoreStatus, probeFailure, READY_MESSAGE, type StoreOutcome } from "./status.ts";

type Memory = {
  settings: string;
  handle: ArtifactStoreHandle;
  tried: { at: number; outcome: StoreOutcome } | undefined;
};

/** How long an outcome holds before the store is tried again, ms. */
const READY_MS = 10 * 60_000;
const NOT_READY_MS = 30_000;

/** Opens each store, tries it out, and tells its dependants whether it can be used. */
export function createArtifactStoreReconciler(
  shared: Shared,
  kind: Kind<ArtifactStore>,
  stores: StoreRegistry,
  wiring: StoreWiring & { handle: HandleOptions },
): Reconcile {
  const { clock, references } = shared;
  const memories = new Map<StoreKey, Memory>();

  async function forget(key: StoreKey): Promise<void> {
    const memory = memories.get(key);
    memories.delete(key);
    stores.remove(key);
    references.forget(referenceKey(kind, key));
    await memory?.handle.dispose();
  }

  /** The store as spec and Secret say now; a change of either replaces the handle. */
  async function remember(key: StoreKey, options: StoreOptions): Promise<Memory> {
    const settings = createHash("sha256").update(JSON.stringify(options)).digest("hex");
    const known = memories.get(key);
    if (known?.settings === settings) return known;
    const memory: Memory = { settings, handle: await openStore(options, wiring.handle), tried: undefined };
    memories.set(key, memory);
    stores.set(key, { state: { kind: "Checking" }, handle: memory.handle });
    await known?.handle.dispose();
    return memory;
  }

  async function look(store: ArtifactStore, key: StoreKey, requested: boolean, signal: AbortSignal) {
    let memory = memories.get(key);
    let outcome: StoreOutcome;
    try {
      memory = await remember(key, await settingsOf(store, createValueReader(shared.kube, signal), wiring));
      const { tried } = memory;
      if (tried === undefined || requested || clock.monotonic() >= tried.at + lifeOf(tried.outcome)) {
        outcome = await tryOut(memory.handle, store.spec.volume !== undefined, signal);
        memory.tried = { at: clock.monotonic(), outcome };
      } else outcome = tried.outcome;
    } catch (error) {
      if (!(error instanceof MissingReferenceError)) throw error;
      outcome = { kind: "NotReady", reason: error.reason, message: error.message, stalled: true };
    }
    const handle = memory?.handle;
    if (outcome.kind === "Ready") stores.set(key, { state: { kind: "Ready" }, handle });
    else stores.set(key, { state: { kind: "Held", reason: outcome.reason, message: outcome.message }, handle });
    return outcome;
  }

  function announce(store: ArtifactStore, outcome: StoreOutcome): void {
    if (outcome.kind === "Ready") shared.recorder.event(store, "Normal", "Ready", "Probe", READY_MESSAGE);
    else shared.recorder.event(store, "Warning", outcome.reason, "Probe", outcome.message);
  }

  return async ({ key }, { signal }) => {
    const store = kind.store.get(key);
    if (store === undefined || store.metadata.deletionTimestamp !== undefined) {
      await forget(key);
      return undefined;
    }
    const { annotations, generation, namespace = "" } = store.metadata;
    if (annotations?.[ANNOTATIONS.paused] === "true") return undefined;
    const asked = annotations?.[ANNOTATIONS.reconcileRequestedAt] ?? annotations?.[ANNOTATIONS.fluxRequestedAt];
    const requested = asked !== undefined && asked !== store.status?.lastHandledReconcileAt;
    const secret = store.spec.s3?.credentialsSecretRef;
    references.track(
      referenceKey(kind, key),
      secret === undefined ? [] : [{ resource: secretResource, namespace, name: secret.name }],
    );

    const outcome = await look(store, key, requested, signal);
    const location = locationOf(store.spec, wiring.artifactRoot);
    const facts = { generation, location, handledRequest: requested ? asked : undefined };
    await patchStatus(shared, kind, store, artifactStoreStatus(store.status, outcome, facts, clock.now()), signal);
    const before = getCondition(store.status?.conditions ?? [], "Ready")?.reason;
    if (outcome.kind === "Ready" ? before !== "Ready" : before !== outcome.reason) announce(store, outcome);
    return { requeueAfterMs: lifeOf(outcome) };
  };
}

async function tryOut(handle: ArtifactStoreHandle, volume: boolean, signal: AbortSignal): Promise<StoreOutcome> {
  try {
    await handle.probe(signal);
    return { kind: "Ready" };
  } catch (error) {
    if (!(error instanceof ArtifactError) || error.kind === "Aborted") throw error;
    return probeFailure(error, volume);
  }
}

function lifeOf(outcome: StoreOutcome): number {
  return outcome.kind === "Ready" ? READY_MS : NOT_READY_MS;
}

function referenceKey({ resource }: Pick<Kind<ArtifactStore>, "resource">, key: StoreKey): string {
  return `${resource.plural}:${key}`;
}
