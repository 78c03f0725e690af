import type { Servers } from "../controllers/account/servers.ts";
import { createKind } from "../controllers/controller-deps.ts";
import { keyOf } from "../kube/types.ts";
import { type Controller, createController, type Reconcile } from "../runtime/controller.ts";
import { createManager, type Manager, type Runnable } from "../runtime/manager.ts";
import type { EventRecorder } from "../runtime/recorder.ts";
import { createTracer } from "../tracing/tracer.ts";
import { createAccountAccess, createContext, type Enqueue } from "./context.ts";
import { type AnyKind, createInformers, kindsOf } from "./informers.ts";
import type { OperatorContext } from "./kinds.ts";
import type { AssembleOptions } from "./options.ts";
import { createOwnership, type Ownership } from "./ownership.ts";
import { WHOLE } from "./shard.ts";
import { NO_EVENTS, readOnly, whileOwned } from "./shard-gate.ts";
import { observeTraces, traced } from "./traced-kind.ts";
import { watchEachOther } from "./watches.ts";

/** Reconciles wait for the account's rate limit, so the deadline is long. Paid requests of jobs run beside the reconciles. */
const DEADLINE_MS = 5 * 60_000;

export type Operator = { manager: Manager; recorder: EventRecorder; servers: Servers };

/** Builds the operator from the table of kinds: informers, secondary watches, controllers. Starts nothing. */
export function assembleOperator(options: AssembleOptions): Operator {
  const { kube, restore, clock, random, log, clusterUID, slices, shard = WHOLE } = options;
  const namespaces = options.watchNamespaces;
  const ownership = createOwnership(shard, (key) => access.accountObject(key) !== undefined);
  const informers = createInformers({
    client: kube,
    namespaces,
    clock,
    random,
    log,
    clusterUID,
    slices,
    onRestored: (error) => void restore.look().then(() => options.end(error)),
    mayOwn: ownership.mayOwn,
  });
  const kinds = kindsOf(informers, clusterUID);

  const controllers = new Map<string, Controller>();
  const enqueue: Enqueue = ({ plural }, key) => {
    const kind = kinds.find(({ row }) => row.resource.plural === plural);
    const object = kind?.informer.store.get(key);
    if (kind === undefined || (object !== undefined && !ownership.mayOwn(kind.row, object))) return;
    controllers.get(plural)?.enqueue(key);
  };
  const access = createAccountAccess(informers, enqueue);
  const context = createContext(options, informers, access, { enqueue, ownership });
  const { accounts, recorder } = context.deps;
  const { servers } = context.account;
  watchEachOther({ informers, accounts, servers, stores: context.stores, ...access, enqueue, clusterUID });
  for (const kind of kinds) {
    const own = { row: kind.row, informer: ownInformer(kind, ownership), ownership };
    controllers.set(kind.row.resource.plural, addController(options, context, own));
  }
  const submitting = kinds.filter(({ row }) => row.submits);
  restore.onChange(() => {
    for (const { row, informer } of submitting) {
      for (const object of informer.store.list()) enqueue(row.resource, keyOf(object));
    }
  });
  const groups = [true, false].map((first) =>
    kinds.flatMap(({ row }) =>
      (row.startsFirst ?? false) === first ? (controllers.get(row.resource.plural) ?? []) : [],
    ),
  );

  const manager = createManager({
    elector: options.elector,
    prepare: (signal) => restore.open(signal),
    informers: Object.values(informers),
    controllers: groups,
    runnables: [{ name: "restore", start: () => restore.start(), stop: () => restore.stop() }, ...runnablesOf(context)],
    // Only this process remembers what the API server had before it was away.
    async onLost(stop) {
      await restore.look(stop);
      await restore.stop();
    },
    clock,
    log,
    stopDeadlineMs: options.stopDeadlineMs,
  });
  return { manager, recorder, servers };
}

type OwnKind = Pick<AnyKind, "row" | "informer"> & { ownership: Ownership };

/** A kind as its reconciler writes it. Its objects have traces when the operator has a place for them. */
function kindOf(
  { kube, clock, log, traces: sink }: AssembleOptions,
  { deps }: OperatorContext,
  { row, informer }: OwnKind,
) {
  const written = createKind(kube, informer);
  if (sink === undefined || row.traces === undefined) return written;
  const tracer = createTracer({ sink, clock, log, recorder: deps.recorder });
  observeTraces(informer, row.traces, tracer);
  return traced(written, row.traces, tracer);
}

/** The reconciler of a kind, for the objects of this shard. */
function reconcilerOf(options: AssembleOptions, context: OperatorContext, own: OwnKind): Reconcile {
  const { row, ownership } = own;
  const { shard = WHOLE } = options;
  const kind = kindOf(options, context, own);
  if (shard.count === 1) return row.reconciler(context, kind);
  if (row.inEachShard !== true) {
    return whileOwned({ ownership, row }, kind, row.reconciler(context, kind));
  }
  if (shard.index === 0) return row.reconciler(context, kind);
  return row.reconciler({ ...context, deps: { ...context.deps, recorder: NO_EVENTS } }, readOnly(kind));
}

/** The controller of a kind, fed by its informer. */
function addController(options: AssembleOptions, context: OperatorContext, own: OwnKind): Controller {
  const { clock, random, log, metrics, slices } = options;
  const { row, informer } = own;
  const controller = createController({
    name: row.resource.kind.toLowerCase(),
    reconcile: reconcilerOf(options, context, own),
    maxConcurrentReconciles: row.workers ?? options.maxConcurrentReconciles,
    deadlineMs: DEADLINE_MS,
    clock,
    random,
    log,
    metrics,
    slices,
  });
  informer.onChange((change) => {
    const initial = change.type === "Added" && change.initial;
    controller.enqueue(keyOf(change.object), { priority: initial ? "low" : "high" });
  });
  return controller;
}

/** The informer of a kind, which tells of the objects that this shard may have. Its store holds those of all shards. */
function ownInformer({ row, informer }: AnyKind, { mayOwn }: Ownership): AnyKind["informer"] {
  return {
    ...informer,
    onChange: (handler) =>
      informer.onChange((change) => {
        if (mayOwn(row, change.object)) handler(change);
      }),
  };
}

/** What runs beside the controllers, in the order of the start. */
function runnablesOf({ deps, jobs, stores, ledger }: OperatorContext): Runnable[] {
  const { references, exports, accounts } = deps;
  return [
    // Stops last: whatever stops before it may still add usage.
    { name: "usage", start: () => ledger.start(), stop: () => ledger.stop() },
    { name: "references", start: () => references.start(), stop: () => references.stop() },
    { name: "exports", start: () => exports.start(), stop: () => exports.stop() },
    {
      name: "accounts",
      start: () => undefined,
      stop: async () => {
        await Promise.all([...accounts.entries()].map(([, { handle }]) => handle?.close()));
      },
    },
    {
      name: "submissions",
      start: () => undefined,
      drain: (deadline) => jobs.running.drain(deadline),
      stop: async () => {
        await jobs.copies.stop();
        await Promise.all([...stores.entries()].map(([, { handle }]) => handle?.dispose()));
      },
    },
  ];
}
