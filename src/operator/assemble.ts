import type { InstallationClaims } from "../controllers/account/installation-claims.ts";
import { createKind } from "../controllers/controller-deps.ts";
import { keyOf } from "../kube/types.ts";
import { type Controller, createController } from "../runtime/controller.ts";
import { createManager, type Manager, type Runnable } from "../runtime/manager.ts";
import type { EventRecorder } from "../runtime/recorder.ts";
import { settleLeft } from "../submission/intents.ts";
import { createTracer } from "../tracing/tracer.ts";
import { createAccountAccess, createContext, type Enqueue } from "./context.ts";
import { type AnyKind, createInformers, kindsOf } from "./informers.ts";
import type { OperatorContext } from "./kinds.ts";
import type { AssembleOptions } from "./options.ts";
import { entriesIn } from "./takeover.ts";
import { observeTraces, traced } from "./traced-kind.ts";
import { watchEachOther } from "./watches.ts";

/** Reconciles wait for the account's rate limit, so the deadline is long. Paid requests of jobs run beside the reconciles. */
const DEADLINE_MS = 5 * 60_000;

export type Operator = { manager: Manager; recorder: EventRecorder; claims: InstallationClaims };

/** Builds the operator from the table of kinds: informers, secondary watches, controllers. Starts nothing. */
export function assembleOperator(options: AssembleOptions): Operator {
  const { kube, clock, random, log, journal, clusterUID, slices } = options;
  const namespaces = options.watchNamespaces;
  const informers = createInformers({
    client: kube,
    namespaces,
    clock,
    random,
    log,
    clusterUID,
    slices,
    onRestored: options.end,
  });
  const kinds = kindsOf(informers, clusterUID);

  const controllers = new Map<string, Controller>();
  const enqueue: Enqueue = ({ plural }, key) => controllers.get(plural)?.enqueue(key);
  const access = createAccountAccess(informers, enqueue);
  const context = createContext(options, informers, access, enqueue);
  const { accounts, recorder } = context.deps;
  const { claims } = context.account;
  watchEachOther({ informers, accounts, claims, stores: context.stores, ...access, enqueue, clusterUID });
  for (const kind of kinds) controllers.set(kind.row.resource.plural, addController(options, context, kind));
  const groups = [true, false].map((first) =>
    kinds.flatMap(({ row }) =>
      (row.startsFirst ?? false) === first ? (controllers.get(row.resource.plural) ?? []) : [],
    ),
  );

  const manager = createManager({
    elector: options.elector,
    journal,
    informers: Object.values(informers),
    controllers: groups,
    runnables: runnablesOf(context),
    onTakeover: (left) =>
      settleLeft(
        context.deps,
        entriesIn(left, namespaces),
        kinds.flatMap(({ row, informer }) => (row.submits ? [...informer.store.list()] : [])),
      ),
    clock,
    log,
    stopDeadlineMs: options.stopDeadlineMs,
  });
  return { manager, recorder, claims };
}

/** A kind as its reconciler writes it. Its objects have traces when the operator has a place for them. */
function kindOf(
  { kube, clock, log, traces: sink }: AssembleOptions,
  { deps }: OperatorContext,
  kind: Omit<AnyKind, "keysIn">,
) {
  const { row, informer } = kind;
  const written = createKind(kube, informer);
  if (sink === undefined || row.traces === undefined) return written;
  const tracer = createTracer({ sink, clock, log, recorder: deps.recorder });
  observeTraces(informer, row.traces, tracer);
  return traced(written, row.traces, tracer);
}

/** The controller of a kind, fed by its informer. */
function addController(options: AssembleOptions, context: OperatorContext, { row, informer }: AnyKind): Controller {
  const { clock, random, log, metrics, slices } = options;
  const controller = createController({
    name: row.resource.kind.toLowerCase(),
    reconcile: row.reconciler(context, kindOf(options, context, { row, informer })),
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

/** What runs beside the controllers, in the order of the start. */
function runnablesOf({ deps, account, jobs, stores, ledger }: OperatorContext): Runnable[] {
  const { references, exports, accounts } = deps;
  const { claims } = account;
  return [
    // Stops last: whatever stops before it may still add usage.
    { name: "usage", start: () => ledger.start(), stop: () => ledger.stop() },
    { name: "claims", start: () => claims.start(), stop: () => claims.stop() },
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
