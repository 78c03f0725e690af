import { ANNOTATIONS } from "../../../src/api/v1alpha1/meta.ts";
import { LEDGER_NAMES, WRITE_MS } from "../../../src/controllers/billing/ledger.ts";
import { type Json, objectAt, textAt } from "../api-server/json.ts";
import { RunawayError, settled } from "../engine/scheduler.ts";
import { judgeBatches, unfinishedBatches, watchBatches } from "../invariants/batches.ts";
import { watchBindings } from "../invariants/bindings.ts";
import { watchConcurrency } from "../invariants/concurrency.ts";
import { judgeCopies } from "../invariants/copies.ts";
import { watchReuse } from "../invariants/reuse.ts";
import { condition, unstable, watchTerminalPhases } from "../invariants/stability.ts";
import { watchStatuses } from "../invariants/statuses.ts";
import { createTruthWatch } from "../invariants/truth.ts";
import type { Violation } from "../invariants/violation.ts";
import { CALM, type FaultCounts } from "../network/weather.ts";
import { createBatch, createObject, performAction, releaseHalted } from "./actions.ts";
import { inject } from "./faults.ts";
import { balance, handOver } from "./handing-over.ts";
import { objectOf, resourceOf, SYNC_MS, serialOf } from "./manifests.ts";
import { type Action, type Plan, withInputs } from "./plan.ts";
import { createWorld, type RunOptions, type World } from "./world.ts";

export type RunResult = {
  plan: Plan;
  violation: Violation | undefined;
  simulatedMs: number;
  steps: number;
  crashes: number;
  starts: number;
  paid: number;
  exits: Record<string, number>;
  counts: FaultCounts;
  /** Equal for equal runs. */
  digest: string;
  lastLines: string[];
};

/** Everything has to be stable so long after the last fault: the longest backoff is 10 minutes. */
const STABLE_WITHIN_MS = 60 * 60_000;
/** Nothing is written for so long once everything is stable. */
const QUIET_MS = 5 * SYNC_MS;
/** Processes restart, take the lease, and give up watches that are silent for 100 s. */
const RECOVERY_MS = 150_000;
const LOOK_MS = 5_000;
const TRUTH_LOOK_MS = 1_000;
/** Users look at the effect of their changes for so long. */
const CHANGES_MS = 90_000;
const USER_LOOKS_MS = 60_000;
/** A run has about ten in a simulated second, and thousands after a start. */
const STEPS_PER_SECOND = 100_000;

/** Runs a plan to its end or to the first violation. */
export async function runPlan(given: Plan, options: RunOptions = {}): Promise<RunResult> {
  const plan = withInputs(given);
  const world = createWorld(plan, options);
  const { scheduler, replicas, judge } = world;
  let over = false;
  const onRejection = (reason: unknown) => {
    if (over) return;
    if (reason instanceof RunawayError) judge.violated("Paced", reason.message);
    else judge.violated("NoCrash", `unhandled: ${reason instanceof Error ? reason.stack : String(reason)}`);
  };
  process.on("unhandledRejection", onRejection);
  try {
    watchTerminalPhases(world);
    watchConcurrency(world);
    watchStatuses({
      ...world,
      isTampered: (object) => world.records.isTampered(serialOf(object) ?? -1),
      tell: (object, problems) => judge.violated("Consistent", `${shownName(object)}: ${problems.join("; ")}`),
    });
    watchBindings(world);
    watchReuse(world);
    watchBatches(world);
    for (const batch of plan.batches ?? []) scheduler.after(batch.at, () => createBatch(world, batch));
    for (const object of plan.objects) scheduler.after(object.at, () => createObject(world, object));
    for (const action of plan.actions) scheduler.after(action.at, () => performAction(world, action));
    for (const fault of plan.faults) scheduler.after(fault.at, () => inject(world, fault));
    replicas.start();
    await runUntil(world, plan.chaosMs);
    world.weather.api = CALM;
    world.weather.service = CALM;
    world.staleness.current = undefined;
    world.schema.pruneUntil = 0;
    replicas.calm();
    await runUntil(world, scheduler.now() + RECOVERY_MS);
    await becomeStable(world);
    await goOn(world);
    await becomeStable(world);
    await handOver(world, (until) => runUntil(world, until));
    await becomeStable(world);
    await balance(world, (until) => runUntil(world, until));
    world.records.judgeEnd();
    judgeCopies(world);
    if (judge.first() === undefined) judgeBatches(world);
    await stayQuiet(world);
  } finally {
    over = true;
    replicas.end();
    await settled();
    process.off("unhandledRejection", onRejection);
  }
  return {
    plan,
    violation: judge.first(),
    simulatedMs: scheduler.now(),
    steps: scheduler.steps(),
    ...replicas.counts(),
    paid: world.payments.requests(),
    counts: world.counts,
    digest: scheduler.digest(),
    lastLines: scheduler.lastLines(),
  };
}

const shownName = ({ kind, metadata }: Json) =>
  `${kind} ${textAt(metadata, "namespace") ?? ""}/${textAt(metadata, "name")}`;

function runUntil({ scheduler, judge }: World, until: number): Promise<void> {
  let second = { from: scheduler.now(), steps: scheduler.steps() };
  return scheduler.run(until, () => {
    const [now, steps] = [scheduler.now(), scheduler.steps()];
    if (now - second.from >= 1_000) second = { from: now, steps };
    else if (steps - second.steps > STEPS_PER_SECOND) {
      judge.violated("Paced", `more than ${STEPS_PER_SECOND} events in a second: something repeats without a pause`);
    }
    return judge.first() !== undefined;
  });
}

/** Steps until everything is stable. */
async function becomeStable(world: World): Promise<void> {
  const { scheduler, judge, plan } = world;
  const deadline = scheduler.now() + STABLE_WITHIN_MS;
  let lookedAt = scheduler.now();
  const look = () => [...unstable(world), ...unfinishedBatches(world)];
  for (let wrong = look(); wrong.length > 0 && judge.first() === undefined; wrong = look()) {
    if (scheduler.now() >= deadline) {
      judge.violated("Stable", `${STABLE_WITHIN_MS / 60_000} minutes without a fault: ${wrong.join("\n")}`);
      return;
    }
    await runUntil(world, scheduler.now() + LOOK_MS);
    if (scheduler.now() - lookedAt < USER_LOOKS_MS) continue;
    lookedAt = scheduler.now();
    helpOut(world, `${plan.seed}-${lookedAt}`);
  }
}

/** Users go on while nothing disturbs the operator: every change shows within its bound. */
async function goOn(world: World): Promise<void> {
  const { scheduler, judge, plan } = world;
  const truth = createTruthWatch(world);
  for (const [i, { serial }] of plan.objects.filter(({ appName }) => appName === undefined).entries()) {
    const max = 3 + (i % 5);
    const actions: Action[] = [
      { do: "scale", serial, max },
      { do: "remoteScale", serial, max: max + 1 },
      { do: "suspend", serial, suspend: i % 3 === 0 },
      { do: "remoteDelete", serial },
      { do: "delete", serial },
    ];
    const action = actions[(plan.seed + i) % actions.length];
    if (action !== undefined) scheduler.after(i * 7_000, () => performAction(world, action));
  }
  const until = scheduler.now() + CHANGES_MS + plan.objects.length * 7_000;
  while (scheduler.now() < until && judge.first() === undefined) {
    await runUntil(world, scheduler.now() + TRUTH_LOOK_MS);
    truth.look();
  }
}

/** What the messages of conditions ask users to do. */
function helpOut(world: World, token: string): void {
  releaseHalted(world, token);
  for (const object of world.plan.objects) {
    const found = objectOf(world, object);
    if (found === undefined) continue;
    const reasonOf = (type: string) => textAt(condition(found, type), "reason");
    const inDeletion = textAt(found["metadata"], "deletionTimestamp") !== undefined;
    // A user who reads the service's own list sees that the endpoint does not exist.
    const isMissing = reasonOf("Ready") === "RemoteMissing" && world.census.of(object.serial).length === 0;
    // The other client has ended.
    const isFought = reasonOf("Synced") === "DriftFight" && !inDeletion;
    if (!isMissing && !isFought) continue;
    const annotations = inDeletion
      ? { [ANNOTATIONS.deletionPolicy]: "Retain" }
      : { [ANNOTATIONS.reconcileRequestedAt]: token };
    world.cluster.patch(resourceOf(object), object, { metadata: { annotations } });
  }
}

/** Once everything is stable, neither the objects nor the remote are written any more. */
async function stayQuiet(world: World): Promise<void> {
  const { scheduler, judge, storage, service } = world;
  if (judge.first() !== undefined) return;
  // Requests that were under way, events that wait for their turn.
  await runUntil(world, scheduler.now() + QUIET_MS);
  const expiriesTold = new Set<string>();
  const usageWrites = new Map<string, number>();
  const stop = storage.onEvent((id, { object }) => {
    const name = textAt(object["metadata"], "name") ?? "";
    const written = `${id} ${textAt(object["metadata"], "namespace")}/${name}`;
    if (LEDGER_NAMES.includes(name)) {
      usageWrites.set(name, (usageWrites.get(name) ?? 0) + 1);
      if ((usageWrites.get(name) ?? 0) > USAGE_WRITES) judge.violated("Quiet", `${written} is written too often`);
      return;
    }
    const expiry = expiryTold(object);
    if (expiry !== undefined && !expiriesTold.has(expiry)) {
      expiriesTold.add(expiry);
      return;
    }
    if (QUIET_EXCEPT.includes(id)) return;
    const history = storage.collection(id).history.filter((event) => textAt(event.object["metadata"], "name") === name);
    const changes = differing(objectAt(history.at(-2)?.object, "status"), objectAt(object, "status"));
    judge.violated("Quiet", `${written} is written although everything is stable: ${changes}`);
  });
  const callsBefore = new Map(world.calls);
  const before = JSON.stringify(service.endpoints.all().map(({ parameters }) => parameters));
  await runUntil(world, scheduler.now() + QUIET_MS);
  stop();
  const accounts = ["clusteraccounts.mooring.dev", "accounts.mooring.dev"].flatMap((id) => [
    ...storage.collection(id).objects.values(),
  ]).length;
  const waiting = [...storage.collection("gpuendpoints.mooring.dev").objects.values()].filter((object) =>
    ["Ready", "Synced"].some((type) => textAt(condition(object, type), "status") !== "True"),
  ).length;
  for (const [operation, count] of world.calls) {
    const more = count - (callsBefore.get(operation) ?? 0);
    if (more > accounts * (AT_REST[operation] ?? 0) + waiting * (WAITING[operation] ?? 0)) {
      judge.violated("Quiet", `${more} calls of ${operation} in ${QUIET_MS / 1_000} s, although everything is stable`);
    }
  }
  const after = JSON.stringify(service.endpoints.all().map(({ parameters }) => parameters));
  if (before !== after) judge.violated("Quiet", "the endpoints of the service changed although everything was stable");
  const wrong = unstable(world);
  if (wrong.length > 0) judge.violated("Quiet", `was stable, and is no more: ${wrong.join("\n")}`);
}

/** The fields that differ, with both values. */
function differing(before: Json, after: Json): string {
  const text = (value: unknown) => JSON.stringify(value) ?? "none";
  const fields = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const changed = fields.filter((field) => text(before[field]) !== text(after[field]));
  return changed.map((field) => `${field}: ${text(before[field])} -> ${text(after[field])}`).join("; ");
}

/**
 * The results of a task expire a day after its end, whatever else happens. The job tells it once, and once some hours before, each with
 * a status and an event. Undefined: the object tells something else.
 */
function expiryTold(object: Json): string | undefined {
  const reason = textAt(object, "reason") ?? textAt(condition(object, "ResultsAvailable"), "reason") ?? "";
  if (!EXPIRY_REASONS.includes(reason)) return undefined;
  return `${textAt(object, "kind")} ${textAt(object["metadata"], "namespace")}/${textAt(object["metadata"], "name")} ${reason}`;
}
const EXPIRY_REASONS = ["Expiring", "Expired"];

/** Running workers cost money, so their usage is written, but only so often. A write that failed before is repeated by itself. */
const USAGE_WRITES = Math.ceil(QUIET_MS / WRITE_MS) + 1;
/** Calls for an account in `QUIET_MS`: lists at `syncInterval`, of the earlier generation in two parts, bills each minute, and a probe. */
const AT_REST: Record<string, number> = {
  listEndpoints: 6,
  listEndpointsEarlier: 12,
  listBills: 3,
  getEndpointLimits: 1,
};
/**
 * For an endpoint that is not Ready, each minute, of which `QUIET_MS` can touch two: a look for its app name, or a read that shows that it is
 * missing, and another one. One whose update waits, for the budget for example, is read before each try.
 */
const WAITING: Record<string, number> = {
  listEndpoints: 4,
  listEndpointsEarlier: 8,
  getEndpoint: 4,
  getEndpointEarlier: 4,
};
/** The lease is renewed; an account's status shows when its endpoints were last read. */
const QUIET_EXCEPT = ["leases.coordination.k8s.io", "clusteraccounts.mooring.dev", "accounts.mooring.dev"];
