import { configMapResource } from "../../../src/submission/journal.ts";
import { journalNames } from "../../../src/submission/journal-shards.ts";
import { isJson, type Json, type JsonValue, objectAt, parseJson, textAt } from "../api-server/json.ts";
import { JOURNAL_NAME, OPERATOR_NAMESPACE } from "../operator/process.ts";
import { objectOf, serialOf } from "../scenario/actions.ts";
import { TASK_PRICE } from "../scenario/manifests.ts";
import type { ObjectPlan } from "../scenario/plan.ts";
import type { World } from "../scenario/world.ts";

/** What is not yet as it should be when nothing disturbs any more, in words; empty in the end. */
export function unstable(world: World): string[] {
  const { plan } = world;
  const found = plan.objects.flatMap((object) => problemsOf(world, object));
  const remotes = world.census.all().flatMap(({ serial, endpoint }) => {
    const object = plan.objects.find((one) => one.serial === serial);
    if (object !== undefined && objectOf(world, object) !== undefined) return [];
    if (endpoint.memberID !== OWN_MEMBER || isReplacedByUser(world, serial)) return [];
    if (world.restores.hasMoved(serial)) return [];
    const { minNum, maxNum } = endpoint.parameters.workerConfig;
    return maxNum === 0
      ? []
      : [`endpoint ${endpoint.id} of deleted object ${serial} runs with ${minNum}/${maxNum} workers`];
  });
  return [...found, ...remotes, ...journalProblems(world)];
}

/**
 * Every request has its outcome in the status of its object, so the leader's journal is empty. A ConfigMap that the leader has not
 * opened is judged after a restart (hasUnnoticedLoss).
 */
function journalProblems(world: World): string[] {
  const opened = openedJournal(world);
  if (opened === undefined) return ["no process leads"];
  const isExpected = world.plan.faults.some(({ fault }) => fault === "loseJournal");
  if (!isExpected && hasUnnoticedLoss(world)) return ["the leader's journal is not that of the cluster"];
  return journalShards(world)
    .filter((shard) => opened.includes(uidOf(shard) ?? ""))
    .flatMap(entriesOf)
    .filter((entry) => !waitsForKey(world, entry))
    .map((entry) => `the journal holds ${JSON.stringify(entry)}`);
}

/**
 * A ConfigMap of the journal was deleted or restored since the leader opened it. The operator notices this at its next write to the
 * ConfigMap (docs/recovery.md) or at its next start. An operator that sends nothing does not write the journal. Until then, a
 * restored ConfigMap can have entries that the operator removed from the lost one.
 */
export function hasUnnoticedLoss(world: World): boolean {
  const stored = journalNames(JOURNAL_NAME).map((name) => uidOf(journalShard(world, name)));
  return openedJournal(world)?.some((id, index) => id !== stored[index]) === true;
}

/** The UIDs of the ConfigMaps that the leader has opened, the head first; undefined: no process leads. */
function openedJournal({ replicas }: World): string[] | undefined {
  return replicas
    .running()
    .find((process) => process.leading())
    ?.journalIDs();
}

const journalShard = ({ cluster }: Pick<World, "cluster">, name: string): Json | undefined =>
  cluster.get(configMapResource, { namespace: OPERATOR_NAMESPACE, name });

const journalShards = (world: Pick<World, "cluster">): Json[] =>
  journalNames(JOURNAL_NAME)
    .map((name) => journalShard(world, name))
    .filter((shard) => shard !== undefined);

function entriesOf(shard: Json): JsonValue[] {
  const intents = textAt(shard["data"], "intents");
  const entries = parseJson(intents ?? "[]");
  if (!Array.isArray(entries)) throw new Error(`the journal holds ${intents}`);
  return entries;
}

const isCreate = (entry: JsonValue) => textAt(entry, "operation") === "createEndpoint";

/**
 * The outcome of this create is unknown, and the account's key cannot tell: the endpoint may be among those of the other
 * member, whose key created the object's endpoint before. The entry stays until a user acts, because the request may have
 * taken effect. The object says so.
 */
function waitsForKey(world: World, entry: JsonValue): boolean {
  if (!isCreate(entry)) return false;
  const plan = world.plan.objects.find((one) => uidOf(objectOf(world, one)) === textAt(entry, "uid"));
  const object = plan === undefined ? undefined : objectOf(world, plan);
  return (
    plan !== undefined && object !== undefined && isOutOfSight(world, plan) && awaitsUser(object, ["RemoteMissing"])
  );
}

const uidOf = (object: Json | undefined) => textAt(object?.["metadata"], "uid");

/** The object tells its user why nothing more happens. */
function awaitsUser(object: Json, reasons: readonly string[]): boolean {
  const isStalled = condition(object, "Stalled")?.["status"] === "True";
  return isStalled && reasons.includes(textAt(condition(object, "Ready"), "reason") ?? "");
}

export function nameOf({ kind, namespace, name, serial }: ObjectPlan): string {
  return `${kind} ${namespace}/${name} (object ${serial})`;
}

function problemsOf(world: World, plan: ObjectPlan): string[] {
  const object = objectOf(world, plan);
  if (object === undefined) return [];
  const name = nameOf(plan);
  if (isOutOfSight(world, plan)) {
    // A second create with the account's own key fails when the service takes an app name only once.
    if (awaitsUser(object, ["RemoteMissing", "RemoteRefused"])) return [];
    return [`${name}: its endpoint is another member's, and it does not say so: ${shown(object)}`];
  }
  const metadata = objectAt(object, "metadata");
  const status = objectAt(object, "status");
  if (metadata["deletionTimestamp"] !== undefined) return [`${name} is still in deletion: ${shown(object)}`];
  if (status["observedGeneration"] !== metadata["generation"])
    return [`${name}: the status is of an earlier generation`];
  if (plan.kind !== "GpuEndpoint") {
    const phase = textAt(status, "phase");
    if (phase === "Succeeded" || phase === "Failed") return [];
    if (waitsForBudget(world, object) || isSuspended(object)) return [];
    return [`${name} has not ended: ${shown(object)}`];
  }
  if (waitsForBudget(world, object)) return [];
  const waits = waitsForBudget(world, object, "Synced");
  const awaitsWorkers = ({ field, desired, observed }: FieldDifference) =>
    waits && field === "workers.max" && 0 < Number(observed) && Number(observed) < Number(desired);
  return endpointProblems(world, plan, object, awaitsWorkers).map((problem) => `${name}: ${problem}; ${shown(object)}`);
}

/** The member of the account's own key. */
const OWN_MEMBER = "member-1";

/**
 * A user requested another endpoint while the account had the key of another member, which does not show this one: both can run
 * (docs/correctness.md, "What is not guaranteed").
 */
function isReplacedByUser({ plan }: Pick<World, "plan">, serial: number | undefined): boolean {
  const requests = plan.actions.filter((action) => action.do === "reconcile" && action.serial === serial);
  return plan.faults.some(
    (fault) =>
      fault.fault === "foreignKey" &&
      requests.some(({ at }) => at >= fault.at && at < fault.at + fault.forMs + KEY_NOTICED_MS),
  );
}

/** The operator notices a changed Secret within this time. */
const KEY_NOTICED_MS = 30_000;

/** The member whose key the account of an object has; an Account `default` has that of another one. */
const memberOf = (object: Json | undefined): string =>
  textAt(objectAt(object?.["status"], "account"), "kind") === "Account" ? "member-2" : OWN_MEMBER;

/**
 * Its endpoint was created with the key of another member. Only that key shows it, so a user has to act. An object in deletion waits
 * for that endpoint when the account's own one is stopped.
 */
function isOutOfSight(world: Pick<World, "census" | "cluster">, plan: ObjectPlan): boolean {
  const endpoints = world.census.of(plan.serial);
  const member = memberOf(objectOf(world, plan));
  const own = endpoints.filter(({ memberID }) => memberID === member);
  if (own.length === endpoints.length) return false;
  if (own.length === 0) return true;
  const inDeletion = objectAt(objectOf(world, plan) ?? {}, "metadata")["deletionTimestamp"] !== undefined;
  return inDeletion && own.every(({ parameters }) => parameters.workerConfig.maxNum === 0);
}

/** A user suspended the job while it had no request under way: it waits until `suspend` is false. */
function isSuspended(object: Json): boolean {
  const { phase, submission } = objectAt(object, "status");
  const reason = textAt(condition(object, "Ready"), "reason");
  const isSending = textAt(submission, "state") === "Intended";
  return isSuspendedSpec(object) && phase === "Pending" && reason === "Suspended" && !isSending;
}

/** What is left of the budget does not pay for another task, and the condition says so. `Synced`: of more workers. */
function waitsForBudget({ plan, service }: World, object: Json, type: "Ready" | "Synced" = "Ready"): boolean {
  if (plan.budgetTasks === undefined || textAt(condition(object, type), "reason") !== "BudgetExceeded") return false;
  return service.ledger.total() + TASK_PRICE > plan.budgetTasks * TASK_PRICE;
}

export const NO_ENDPOINT = "no endpoint at the service";

/** A field of the spec that has another value at the service. */
export type FieldDifference = { field: "workers.max" | "command"; desired: string; observed: string };

/** How an endpoint differs from its object. `accepts`: differences that are no problem; default: none. */
export function endpointProblems(
  world: Pick<World, "census">,
  plan: ObjectPlan,
  object: Json,
  accepts: (difference: FieldDifference) => boolean = () => false,
): string[] {
  const member = memberOf(object);
  const [endpoint, ...more] = world.census.of(plan.serial).filter(({ memberID }) => memberID === member);
  const problems: string[] = [];
  if (condition(object, "Ready")?.["status"] !== "True") problems.push("not Ready");
  if (endpoint === undefined) return [...problems, NO_ENDPOINT];
  if (more.length > 0) problems.push("several endpoints at the service");
  if (textAt(object["status"], "endpointID") !== endpoint.id) problems.push("bound to another endpoint");
  const { workerConfig, image } = endpoint.parameters;
  const spec = objectAt(object, "spec");
  const max = isSuspendedSpec(object) ? 0 : objectAt(spec, "workers")["max"];
  const fields: FieldDifference[] = [
    { field: "workers.max", desired: String(max), observed: String(workerConfig.maxNum) },
    { field: "command", desired: textAt(spec, "command") ?? "", observed: image.command ?? "" },
  ];
  const differing = fields.filter((one) => one.desired !== one.observed && !accepts(one));
  return [
    ...problems,
    ...differing.map(({ field, desired, observed }) => `the service has ${field} "${observed}", wanted "${desired}"`),
  ];
}

export const isSuspendedSpec = (object: Json) => objectAt(object, "spec")["suspend"] === true;

export function condition(object: Json, type: string): Json | undefined {
  const conditions = objectAt(object, "status")["conditions"];
  return Array.isArray(conditions) ? conditions.filter(isJson).find((one) => one["type"] === type) : undefined;
}

export function shown(object: Json | undefined): string {
  const ready = object === undefined ? undefined : condition(object, "Ready");
  const phase = textAt(object?.["status"], "phase") ?? "";
  return `${phase} ${textAt(ready, "reason")}: ${textAt(ready, "message")}`.trim();
}

/** Terminal phases by UID, as the storage shows them. */
export function watchTerminalPhases({ storage, judge }: Pick<World, "storage" | "judge">): void {
  const ended = new Map<string, string>();
  storage.onRestore(() => ended.clear());
  storage.onEvent((id, { object, type }) => {
    if (!id.startsWith("speechjobs.") && !id.startsWith("videojobs.")) return;
    const uid = textAt(object["metadata"], "uid") ?? "";
    if (type === "DELETED") {
      ended.delete(uid);
      return;
    }
    const phase = textAt(object["status"], "phase") ?? "none";
    const before = ended.get(uid);
    if (before !== undefined && before !== phase) {
      judge.violated("TerminalPhase", `job ${serialOf(object)} went from ${before} to ${phase}`);
    }
    if (phase === "Succeeded" || phase === "Failed") ended.set(uid, phase);
  });
}
