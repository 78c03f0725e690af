import { accountResource, clusterAccountResource } from "../api/v1alpha1/kinds.ts";
import { aborted } from "../base/clock.ts";
import type { Servers } from "../controllers/account/servers.ts";
import { createBalancer } from "../controllers/account/turns.ts";
import { createKind, type Kind } from "../controllers/controller-deps.ts";
import { type KubeObject, keyOf } from "../kube/types.ts";
import { type Controller, createController, type Reconcile, type SharedReconciler } from "../runtime/controller.ts";
import { createManager, type Manager, type Runnable } from "../runtime/manager.ts";
import type { EventRecorder } from "../runtime/recorder.ts";
import { isOfStatusAlone } from "../runtime/store.ts";
import { createTracer } from "../tracing/tracer.ts";
import { createAccountAccess, type Enqueue } from "./account-access.ts";
import { createContext } from "./context.ts";
import { type AnyKind, createInformers, kindsOf } from "./informers.ts";
import type { OperatorContext } from "./kinds.ts";
import type { AssembleOptions } from "./options.ts";
import { observeTraces, traced } from "./traced-kind.ts";
import { watchEachOther } from "./watches.ts";

/** Reconciles wait for the account's rate limit, so the deadline is long. Paid requests of jobs run beside the reconciles. */
const DEADLINE_MS = 5 * 60_000;

export type Operator = { manager: Manager; recorder: EventRecorder; servers: Servers };

/** Builds the operator from the table of kinds: informers, secondary watches, controllers. Starts nothing. */
export function assembleOperator(options: AssembleOptions): Operator {
  const { kube, restore, clock, random, log, clusterUID, slices, members } = options;
  const informers = createInformers({
    client: kube,
    namespaces: options.watchNamespaces,
    clock,
    random,
    log,
    clusterUID,
    slices,
    onRestored: (error) => void restore.look().then(() => options.end(error)),
    isWhole: (row, object) => context.ownership.mayOwn(row, object) || context.gate.isBusy(row, object),
  });
  const kinds = kindsOf(informers, clusterUID);

  const controllers = new Map<string, Controller>();
  const enqueue: Enqueue = ({ plural }, key) => controllers.get(plural)?.enqueue(key);
  const access = createAccountAccess(informers, enqueue);
  const context = createContext(options, informers, access, enqueue);
  const { deps, ownership, jobs } = context;
  const { accounts, recorder } = deps;
  const { servers } = context.account;
  const watched = { informers, accounts, servers, members, ownership, stores: context.stores };
  watchEachOther({ ...watched, ...access, enqueue, clusterUID });
  for (const kind of kinds) {
    controllers.set(kind.row.resource.plural, addController(options, context, kind));
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
  const isAccount = ({ row }: AnyKind) => row.resource === accountResource || row.resource === clusterAccountResource;

  const manager = createManager({
    members,
    prepare: (signal) => restore.open(signal),
    // What nobody serves before the other lists begin needs no other lists.
    informers: [true, false].map((first) => kinds.filter((one) => isAccount(one) === first).map((one) => one.informer)),
    onListed: (group) => {
      if (group === 0) servers.observeAll();
      else options.onListed?.();
    },
    controllers: groups,
    runnables: [
      { name: "restore", start: () => restore.start(), stop: () => restore.stop() },
      ...runnablesOf(context, options),
    ],
    async handOver(isLost, deadline) {
      servers.stop();
      if (isLost) return;
      await Promise.race([jobs.copies.stop(), aborted(deadline)]);
      await servers.release(deadline);
    },
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

type OwnKind = Pick<AnyKind, "row" | "informer">;

/** A kind as its reconciler writes it. Its objects have traces when the operator has a place for them. */
function kindOf(
  { kube, clock, log, traces: sink, members }: AssembleOptions,
  { deps }: OperatorContext,
  { row, informer }: OwnKind,
) {
  const plain = createKind(kube, informer);
  const written = row.inEachProcess === true ? whileFirst(plain, members) : plain;
  if (sink === undefined || row.traces === undefined) return written;
  const tracer = createTracer({ sink, clock, log, recorder: deps.recorder });
  observeTraces(informer, row.traces, tracer);
  return traced(written, row.traces, tracer);
}

/** A kind that every process reconciles: only the first one writes its objects. */
function whileFirst<T extends KubeObject>(kind: Kind<T>, { isFirst }: AssembleOptions["members"]): Kind<T> {
  return {
    ...kind,
    patchStatus: async (object, ...write) => (isFirst() ? kind.patchStatus(object, ...write) : object),
    setFinalizer: async (object, ...write) => (isFirst() ? kind.setFinalizer(object, ...write) : object),
  };
}

/**
 * The reconciler of a kind. An object that uses an account is reconciled while this process serves the account. Of the objects that every
 * process reconciles, the first one tells.
 */
function reconcilerOf(options: AssembleOptions, context: OperatorContext, { row, informer }: OwnKind): Reconcile {
  const kind = kindOf(options, context, { row, informer });
  const made = (own: OperatorContext) => sharedOf(row.reconciler(own, kind));
  if (row.account !== undefined) return context.gate.whileServed(row, kind, made(context));
  if (row.inEachProcess !== true) return made(context).reconcile;
  const { recorder } = context.deps;
  const { isFirst } = options.members;
  const tells: EventRecorder = {
    ...recorder,
    normal: (...event) => (isFirst() ? recorder.normal(...event) : undefined),
    warning: (...event) => (isFirst() ? recorder.warning(...event) : undefined),
  };
  return made({ ...context, deps: { ...context.deps, recorder: tells } }).reconcile;
}

/** A reconciler that is a function has nothing under way between its reconciles. */
const sharedOf = (made: Reconcile | SharedReconciler<KubeObject>): SharedReconciler<KubeObject> =>
  typeof made === "function" ? { reconcile: made, underWay: () => undefined, forget: () => {} } : made;

/** The controller of a kind, which gets the objects that concern this process. Its store holds all objects. */
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
  const { concerns } = context.ownership;
  informer.onChange((change) => {
    const wasOwn = change.type === "Modified" && concerns(row, change.previous);
    if (!wasOwn && !concerns(row, change.object)) return;
    if (row.isPolled === true && isOfStatusAlone(change)) return;
    const initial = change.type === "Added" && change.initial;
    controller.enqueue(keyOf(change.object), { priority: initial ? "low" : "high" });
  });
  return controller;
}

/** What runs beside the controllers, in the order of the start. */
function runnablesOf(
  { deps, account, jobs, stores, ledger }: OperatorContext,
  { clock, log }: AssembleOptions,
): Runnable[] {
  const { references, exports, accounts } = deps;
  const balance = createBalancer(account.servers, { clock, log });
  return [
    // Stops last: whatever stops before it may still add usage.
    { name: "usage", start: () => ledger.start(), stop: () => ledger.stop() },
    { name: "references", start: () => references.start(), stop: () => references.stop() },
    { name: "balance", start: () => balance.start(), stop: () => balance.stop() },
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
        await Promise.all([jobs.copies.stop(), jobs.callbacks.stop()]);
        await Promise.all([...stores.entries()].map(([, { handle }]) => handle?.dispose()));
      },
    },
  ];
}
