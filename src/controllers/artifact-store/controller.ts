import { createHash } from "node:crypto";
import { specProblem } from "../../api/manifest/spec-problem.ts";
import type { ArtifactStore, ArtifactStoreStatus } from "../../api/v1alpha1/artifact-store.ts";
import { getCondition, isTrue } from "../../api/v1alpha1/conditions.ts";
import { ArtifactError } from "../../artifacts/errors.ts";
import { type CopyHandleOptions, openStore, type StoreLimits, type StoreOptions } from "../../artifacts/handle.ts";
import type { ArtifactStoreHandle } from "../../artifacts/types.ts";
import { secretResource } from "../../kube/resource.ts";
import { keyOf } from "../../kube/types.ts";
import type { Reconcile } from "../../runtime/controller.ts";
import type { EventRecorder } from "../../runtime/recorder.ts";
import type { ControllerDeps, Kind } from "../controller-deps.ts";
import { createReconciler, PAUSED_MESSAGE } from "../reconciler.ts";
import { assertValidSpec, createValueReader, StalledError } from "../references.ts";
import type { StoreKey, StoreRegistry } from "./registry.ts";
import { limitsOf, locationOf, type StoreWiring, settingsOf } from "./settings.ts";
import { artifactStoreStatus, probeVerdict, READY_MESSAGE, type StoreVerdict } from "./status.ts";

type StoreMemory = {
  settings: string;
  handle: ArtifactStoreHandle;
  limits: StoreLimits;
  probed: { at: number; verdict: StoreVerdict } | undefined;
};

/** What all stores share. */
export type StoreHandleOptions = Omit<CopyHandleOptions, "group" | "limits" | "onFull">;

type HandleWiring = { handle: StoreHandleOptions; enqueue: (key: StoreKey) => void };

/** How long a verdict holds before the store is probed again, ms. */
const READY_MS = 10 * 60_000;
const NOT_READY_MS = 30_000;

/** Opens and probes each store, and tells the objects that write to it whether it is usable. */
export function createArtifactStoreReconciler(
  shared: ControllerDeps,
  kind: Kind<ArtifactStore>,
  stores: StoreRegistry,
  wiring: StoreWiring & HandleWiring,
): Reconcile {
  const { clock, references } = shared;
  const memories = createStoreMemories(stores, wiring);

  function forget(key: StoreKey): Promise<void> {
    references.forget(referenceKey(kind, key));
    return memories.forget(key);
  }

  async function observe(store: ArtifactStore, key: StoreKey, requested: boolean, signal: AbortSignal) {
    let memory = memories.get(key);
    let verdict: StoreVerdict;
    try {
      assertValidSpec(kind.resource, store.spec);
      const settings = await settingsOf(store, createValueReader(shared.kube, signal), wiring);
      memory = await memories.remember(store, key, settings);
      const { probed } = memory;
      if (probed === undefined || requested || clock.monotonic() >= probed.at + lifeOf(probed.verdict)) {
        verdict = await probe(memory.handle, store.spec.volume !== undefined, signal);
        memory.probed = { at: clock.monotonic(), verdict };
      } else verdict = probed.verdict;
      const full = memory.handle.full();
      // Results that are paid for are still stored, so its dependants decide by `full`.
      if (verdict.kind === "Done" && full !== undefined) {
        stores.set(key, { state: { kind: "Ready", full: true }, handle: memory.handle });
        return { kind: "Stalled", reason: "StoreFull", message: full } as const;
      }
    } catch (error) {
      if (!(error instanceof StalledError)) throw error;
      verdict = { kind: "Stalled", reason: error.reason, message: error.message };
    }
    const handle = memory?.handle;
    if (verdict.kind === "Done") stores.set(key, { state: { kind: "Ready" }, handle });
    else stores.set(key, { state: { kind: "Held", reason: verdict.reason, message: verdict.message }, handle });
    return verdict;
  }

  return createReconciler<ArtifactStore>({
    kind,
    clock,
    async forgetDeleted({ key }) {
      await forget(key);
      return undefined;
    },
    async finalize(store) {
      await forget(keyOf(store));
      return undefined;
    },
    async pause(store) {
      const key = keyOf(store);
      const { state = { kind: "Checking" }, handle } = stores.get(key) ?? {};
      if (state.kind === "Checking") {
        stores.set(key, { state: { kind: "Held", reason: "Paused", message: PAUSED_MESSAGE }, handle });
      }
      return undefined;
    },
    async reconcile(store, requested, { signal }) {
      const key = keyOf(store);
      const { namespace } = store.metadata;
      const isValid = specProblem(kind.resource, store.spec) === undefined;
      const secret = isValid ? store.spec.s3?.credentialsSecretRef : undefined;
      const referred = secret === undefined ? [] : [{ resource: secretResource, namespace, name: secret.name }];
      references.track(referenceKey(kind, key), referred);

      const verdict = await observe(store, key, requested !== undefined, signal);
      const facts = { location: locationOf(store.spec, wiring.artifactRoot), handledRequest: requested };
      const status = artifactStoreStatus(store, verdict, facts, clock.now());
      await kind.patchStatus(store, status, signal);
      announce(shared.recorder, store, verdict, status);
      return { requeueAfterMs: lifeOf(verdict) };
    },
  });
}

/** One event when a store becomes usable, or unusable for another reason: the message of a full store changes with its size. */
export function announce(
  recorder: Pick<EventRecorder, "normal" | "warning">,
  store: ArtifactStore,
  verdict: StoreVerdict,
  status: ArtifactStoreStatus,
): void {
  const after = shownReason(status);
  if (after === undefined || after === shownReason(store.status)) return;
  if (verdict.kind === "Done") recorder.normal(store, "Ready", "Probe", READY_MESSAGE);
  else recorder.warning(store, verdict.reason, "Probe", verdict.message);
}

/** Undefined: a new store waits for what it refers to. */
function shownReason(status: ArtifactStoreStatus | undefined): string | undefined {
  return isTrue(status?.conditions, "Reconciling") ? undefined : getCondition(status?.conditions, "Ready")?.reason;
}

/** The opened stores. */
function createStoreMemories(stores: StoreRegistry, wiring: HandleWiring) {
  const memories = new Map<StoreKey, StoreMemory>();

  return {
    get: (key: StoreKey) => memories.get(key),
    async forget(key: StoreKey): Promise<void> {
      const memory = memories.get(key);
      memories.delete(key);
      stores.remove(key);
      await memory?.handle.dispose();
    },
    /** The store as spec and Secret say now. A change of either replaces the handle, unless only the limits change. */
    async remember(
      { metadata: { namespace }, spec }: ArtifactStore,
      key: StoreKey,
      options: StoreOptions,
    ): Promise<StoreMemory> {
      const limits = limitsOf(spec);
      const settings = createHash("sha256").update(JSON.stringify(options)).digest("hex");
      const known = memories.get(key);
      if (known?.settings === settings) {
        if (known.limits.maxStoreBytes !== limits.maxStoreBytes) known.probed = undefined;
        known.limits = limits;
        return known;
      }
      const handle = await openStore(options, {
        ...wiring.handle,
        group: namespace,
        limits: () => memory.limits,
        onFull: () => wiring.enqueue(key),
      });
      const memory: StoreMemory = { settings, handle, limits, probed: undefined };
      memories.set(key, memory);
      stores.set(key, { state: { kind: "Checking" }, handle: memory.handle });
      await known?.handle.dispose();
      return memory;
    },
  };
}

async function probe(handle: ArtifactStoreHandle, volume: boolean, signal: AbortSignal): Promise<StoreVerdict> {
  try {
    await handle.probe(signal);
    await handle.measure(signal);
    return { kind: "Done" };
  } catch (error) {
    if (!(error instanceof ArtifactError) || error.kind === "Aborted") throw error;
    return probeVerdict(error, volume);
  }
}

function lifeOf(verdict: StoreVerdict): number {
  return verdict.kind === "Done" ? READY_MS : NOT_READY_MS;
}

function referenceKey({ resource }: Pick<Kind<ArtifactStore>, "resource">, key: StoreKey): string {
  return `${resource.plural}:${key}`;
}
