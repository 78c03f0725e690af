import { specProblem } from "../../api/manifest/spec-problem.ts";
import { getCondition, isTrue } from "../../api/v1alpha1/conditions.ts";
import type { MediaBatch } from "../../api/v1alpha1/media-batch.ts";
import { isNotFound } from "../../kube/errors.ts";
import { keyOf } from "../../kube/types.ts";
import type { ReconcileContext, Result, SharedReconciler } from "../../runtime/controller.ts";
import { accountToUse } from "../account/binding.ts";
import type { ControllerDeps, Kind } from "../controller-deps.ts";
import { createReconciler } from "../reconciler.ts";
import { announceStall, observeGeneration } from "../report.ts";
import { heldVerdict, verdictOf } from "../verdict.ts";
import { createWholeObjects } from "../whole-object.ts";
import { type ItemsState, itemsState } from "./checking.ts";
import { childState, hasEnded } from "./child.ts";
import { SHOWN_MS } from "./children.ts";
import type { BatchDeps, BatchWiring } from "./deps.ts";
import { createIndexSet } from "./index-set.ts";
import { type BatchMemory, createBatchMemories } from "./memory.ts";
import { progressOf } from "./progress.ts";
import { removeParts, writeIndex } from "./results.ts";
import { runRound } from "./round.ts";
import { itemReferences } from "./source.ts";
import { type BatchOutcome, batchStatusOf } from "./status.ts";

/** Shortest time between two rounds. */
const ROUND_MS = 250;
/** When few jobs have ended, a round waits for others, because it costs two writes of the status: a tenth of the time that they took. */
const GATHER = { share: 1 / 10, leastMs: 1_000, mostMs: 10_000 };
/** The share of `parallelism` that a round does not wait for. */
const ENOUGH = 1 / 4;
/** Re-check interval in case a wake-up is lost. */
const AGAIN_MS = 10_000;

type Held = Extract<BatchOutcome, { kind: "Held" }> & { againMs?: number | undefined };

/** Makes a job for each item of a batch, a number at a time, and records how each ended. `round.ts` has the order of the writes. */
export function createBatchReconciler(
  shared: ControllerDeps,
  kind: Kind<MediaBatch>,
  wiring: BatchWiring,
): SharedReconciler<MediaBatch> {
  const deps: BatchDeps = { ...wiring, shared, kind, wholes: createWholeObjects<MediaBatch>(shared.reader, kind) };
  const memories = createBatchMemories();
  const referenceKey = (key: string) => `${kind.resource.plural}:${key}`;
  const run = createReconciler<MediaBatch>({
    kind,
    clock: shared.clock,
    reconcile,
    forgetDeleted: ({ key }, context) => removeDeleted(key, context),
    finalize: (batch, context) => removeDeleted(keyOf(batch), context),
  });

  function forget(key: string): void {
    memories.forget(key);
    shared.references.forget(referenceKey(key));
  }

  return {
    reconcile: run,
    underWay: () => undefined,
    forget,
  };

  async function reconcile(
    stored: MediaBatch,
    requested: string | undefined,
    context: ReconcileContext,
  ): Promise<Result> {
    if (stored.spec.managedBy !== undefined) return undefined;
    const batch = requested === undefined ? stored : await acknowledge(stored, requested, context);
    const key = keyOf(batch);
    if (isEnded(batch)) {
      forget(key);
      return cleanUp(await observeGeneration(kind, batch, context.signal), context);
    }
    const memory = memories.of(key, batch);
    const early = Math.max(memory.wroteAt + ROUND_MS - shared.clock.monotonic(), gatherMs(batch, memory));
    if (early > 0) return { requeueAfterMs: early };
    memory.gathersSince = undefined;
    return advance(batch, memory, context);
  }

  /** How long the next round waits for more jobs to end. */
  function gatherMs({ metadata: { uid }, spec }: MediaBatch, memory: BatchMemory): number {
    const jobs = wiring.jobsOf(uid).filter(({ metadata }) => !memory.removed.has(metadata.uid));
    const ended = jobs.filter(hasEnded);
    const others = jobs.some((job) => childState(job) === "Unfinished");
    if (ended.length === 0 || !others || ended.length >= spec.parallelism * ENOUGH) return 0;
    const now = shared.clock.monotonic();
    memory.gathersSince ??= now;
    const began = Math.min(...ended.map((job) => Date.parse(job.metadata.creationTimestamp)));
    const wanted = (shared.clock.now() - began) * GATHER.share;
    return memory.gathersSince + Math.min(GATHER.mostMs, Math.max(GATHER.leastMs, wanted)) - now;
  }

  async function advance(batch: MediaBatch, memory: BatchMemory, context: ReconcileContext): Promise<Result> {
    const { signal } = context;
    const { namespace } = batch.metadata;
    const restored = shared.heldByRestore(batch);
    if (restored !== undefined) return hold(batch, stalled("EtcdRestored", restored), context);
    const problem = specProblem(kind.resource, batch.spec);
    if (problem !== undefined) return hold(batch, stalled("InvalidSpec", problem), context);
    const resolved = await shared.accounts.resolve(accountToUse(batch), namespace);
    if (resolved.kind === "Checking") return undefined;
    if (resolved.kind === "Held") {
      const verdict = heldVerdict(resolved);
      return hold(batch, { ...verdict, kind: "Held", stalled: verdict.kind === "Stalled" }, context);
    }
    const { object } = batch.spec.items;
    const store = wiring.stores.resolve(namespace, batch.spec.output.storeRef);
    const source = object === undefined ? store : wiring.stores.resolve(namespace, object.storeRef);
    if (store.kind === "Checking" || source.kind === "Checking") return undefined;
    if (store.kind === "Held") return hold(batch, stalled(store.reason, store.message), context);

    const parts = { batch, account: resolved.account, signal };
    const items = itemsState(deps, memory, parts);
    const blocked = items.kind === "Held" && items.stalled;
    shared.references.track(referenceKey(keyOf(batch)), itemReferences(batch), { waits: blocked });
    if (items.kind !== "Usable" && batch.status?.total === undefined) return hold(batch, heldByItems(items), context);
    try {
      memory.batch = batch;
      const round = await runRound({ deps, memory, context: parts, items, store: store.store });
      memory.batch = round.batch;
      announceStall(shared.recorder, batch, round.batch.status, "Run");
      if (!round.fresh) return { requeueAfterMs: ROUND_MS };
      if (round.plan.ended) return await end(round, store.store, signal);
      const again = againOf(round.batch, items, shared.clock.now());
      return { requeueAfterMs: round.young ? Math.min(again, SHOWN_MS) : again };
    } catch (error) {
      const verdict = verdictOf(error);
      if (verdict.kind !== "Stalled") throw error;
      return hold(kind.store.get(keyOf(batch)) ?? batch, { ...verdict, kind: "Held", stalled: true }, context);
    }
  }

  /** Nothing more is started for now. */
  async function hold(batch: MediaBatch, { againMs, ...outcome }: Held, { signal }: ReconcileContext): Promise<Result> {
    const after = await kind.patchStatus(batch, batchStatusOf(batch, {}, outcome, shared.clock.now()), signal);
    announceStall(shared.recorder, batch, after.status, "Run");
    return after.status?.startTime === undefined && againMs === undefined
      ? undefined
      : { requeueAfterMs: againMs ?? AGAIN_MS };
  }

  async function end(
    { batch, plan: { stopped } }: Awaited<ReturnType<typeof runRound>>,
    store: Parameters<typeof writeIndex>[0],
    signal: AbortSignal,
  ): Promise<Result> {
    const { completed, failed } = progressOf(batch.status);
    const recorded = createIndexSet(failed.values(), completed);
    const index = await writeIndex(store, batch, recorded.has, signal);
    const status = batchStatusOf(batch, { index }, { kind: "Ended", stopped }, shared.clock.now());
    const after = await kind.patchStatus(batch, status, signal);
    const failure = getCondition(after.status?.conditions, "Failed");
    const { total } = after.status ?? {};
    const all = total === 1 ? "The item succeeded" : `All ${total} items succeeded`;
    if (failure?.status === "True") announceStall(shared.recorder, batch, after.status, "Run");
    else shared.recorder.normal(batch, "Completed", "Run", all);
    return { requeueAfterMs: 0 };
  }

  async function acknowledge(batch: MediaBatch, requested: string, { signal }: ReconcileContext): Promise<MediaBatch> {
    const status = { ...(batch.status ?? { conditions: [] }), lastHandledReconcileAt: requested };
    return kind.patchStatus(batch, status, signal);
  }

  /** index.jsonl is stored, and the status shows it: the parts that it was made of go, and after its TTL the batch. */
  async function cleanUp(batch: MediaBatch, context: ReconcileContext): Promise<Result> {
    if (batch.status?.parts === undefined) return removeEnded(batch, context);
    const store = wiring.stores.resolve(batch.metadata.namespace, batch.spec.output.storeRef);
    if (store.kind === "Checking") return undefined;
    if (store.kind === "Held") return removeEnded(batch, context);
    await removeParts(store.store, batch, context.signal);
    const { parts: _, ...status } = batch.status;
    return removeEnded(await kind.patchStatus(batch, status, context.signal), context);
  }

  /** Nobody needs the parts of a batch that is deleted before its end. They stay if no process works on it at that time. */
  async function removeDeleted(key: string, { signal }: ReconcileContext): Promise<Result> {
    const batch = memories.find(key)?.batch;
    if (batch !== undefined) {
      const store = wiring.stores.resolve(batch.metadata.namespace, batch.spec.output.storeRef);
      if (store.kind === "Usable") await removeParts(store.store, batch, signal);
    }
    forget(key);
    return undefined;
  }

  /** Deletes an ended batch after ttlSecondsAfterFinished. */
  async function removeEnded({ metadata, spec, status }: MediaBatch, { signal }: ReconcileContext): Promise<Result> {
    const { ttlSecondsAfterFinished: ttl } = spec;
    if (ttl === undefined || status?.completionTime === undefined) return undefined;
    const left = Date.parse(status.completionTime) + ttl * 1000 - shared.clock.now();
    if (left > 0) return { requeueAfterMs: left };
    const { name, namespace, uid, resourceVersion } = metadata;
    const body = { preconditions: { uid, resourceVersion }, propagationPolicy: "Background" };
    try {
      await shared.kube.delete(kind.resource, { namespace, name }, { signal, body });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    return undefined;
  }
}

function isEnded({ status }: MediaBatch): boolean {
  return isTrue(status?.conditions, "Complete") || isTrue(status?.conditions, "Failed");
}

function stalled(reason: Held["reason"], message: string): Held {
  return { kind: "Held", stalled: true, reason, message };
}

/** The first check has not ended, or found problems: there is nothing to go on with. */
function heldByItems(items: Exclude<ItemsState, { kind: "Usable" }>): Held {
  if (items.kind === "Held") return { ...items, kind: "Held" };
  return {
    kind: "Held",
    stalled: false,
    reason: "Progressing",
    message: "All items are checked before anything is sent",
  };
}

/** The earliest of the deadline, the next check of the items, and the interval for what no event announces. */
function againOf({ spec, status }: MediaBatch, items: ItemsState, now: number): number {
  const { activeDeadlineSeconds: seconds } = spec;
  const end =
    seconds === undefined || status?.startTime === undefined
      ? undefined
      : Date.parse(status.startTime) + seconds * 1000;
  const waits = [AGAIN_MS, items.kind === "Held" ? items.againMs : AGAIN_MS];
  if (end !== undefined && end > now) waits.push(end - now);
  return Math.min(...waits);
}
