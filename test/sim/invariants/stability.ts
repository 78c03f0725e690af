import { isJson, type Json, objectAt, textAt } from "../api-server/json.ts";
import { needsClusterAccount, objectOf, resourceOf, serialOf, TASK_PRICE, uriOf } from "../scenario/manifests.ts";
import type { ObjectPlan } from "../scenario/objects.ts";
import type { World } from "../scenario/world.ts";
import { recordOf } from "./records.ts";

/** What is not yet as it should be when nothing disturbs any more, in words; empty in the end. */
export function unstable(world: World): string[] {
  const { plan } = world;
  const found = plan.objects.flatMap((object) => problemsOf(world, object));
  const remotes = world.census.all().flatMap(({ serial, endpoint }) => {
    const object = plan.objects.find((one) => one.serial === serial);
    if (object !== undefined && objectOf(world, object) !== undefined) return [];
    if (endpoint.memberID !== OWN_MEMBER || isReplacedByUser(world, serial)) return [];
    if (world.restores.hasLost(serial) || world.tampering.leavesEndpoints(serial)) return [];
    const { minNum, maxNum } = endpoint.parameters.workerConfig;
    return maxNum === 0
      ? []
      : [`endpoint ${endpoint.id} of deleted object ${serial} runs with ${minNum}/${maxNum} workers`];
  });
  return [...found, ...remotes, ...recordProblems(world)];
}

/** One process serves the account, and every object shows the outcome of its last request. */
function recordProblems(world: World): string[] {
  const servers = world.replicas.running().filter((process) => process.serves("ClusterAccount/default"));
  if (servers.length > 1 || (servers.length === 0 && needsClusterAccount(world))) {
    return [`${servers.length} processes serve the account`];
  }
  return world.plan.objects.flatMap((plan) => {
    const object = objectOf(world, plan);
    if (object === undefined || world.records.isTampered(plan.serial)) return [];
    // Only the key of another member shows whether the create took effect. A user has to act, and the object says so.
    if (isOutOfSight(world, plan) && awaitsUser(object, ["RemoteMissing"])) return [];
    // The create surely had no effect, and the next one waits.
    if (waitsForBudget(world, object) || awaitsRequestAndBudget(world, plan, object)) return [];
    const { plural, group } = resourceOf(plan);
    const record = recordOf(`${plural}.${group}`, object);
    const { submission } = objectAt(object, "status");
    const isOpen = record !== undefined && textAt(submission, "id") !== record.id;
    const isIntended = textAt(submission, "state") === "Intended";
    return isOpen || isIntended ? [`${nameOf(plan)} shows no outcome of ${record?.text}`] : [];
  });
}

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
  if (isRivalOfAnother(world, plan) && awaitsUser(object, ["AlreadyBound"])) return [];
  // Only a record tells its own endpoint from that of somebody else with the same chosen name: the user has to say which one it is.
  const hasNoProof = plan.appName !== undefined && world.restores.hasLost(plan.serial);
  if (hasNoProof && awaitsUser(object, ["AppNameTaken"])) return [];
  if (awaitsRequestAndBudget(world, plan, object)) return [];
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
    if (waitsForBudget(world, object) || isSuspended(object) || awaitsInput(world, plan, object)) return [];
    return [`${name} has not ended: ${shown(object)}`];
  }
  if (waitsForBudget(world, object)) return [];
  const waits = waitsForBudget(world, object, "Synced");
  const awaitsWorkers = ({ field, desired, observed }: FieldDifference) =>
    waits && field === "workers.max" && 0 < Number(observed) && Number(observed) < Number(desired);
  return endpointProblems(world, plan, object, awaitsWorkers).map((problem) => `${name}: ${problem}; ${shown(object)}`);
}

/** Another object has the app name of this one. */
function isRivalOfAnother(world: World, { serial, appName }: ObjectPlan): boolean {
  const rivals = world.plan.objects.filter((one) => one.serial !== serial && one.appName === appName);
  const isFirst = (object: Json | undefined) => object !== undefined && !awaitsUser(object, ["AlreadyBound"]);
  return appName !== undefined && rivals.some((one) => isFirst(objectOf(world, one)));
}

/** The member of the account's own key. */
const OWN_MEMBER = "member-1";

/**
 * A user requested another endpoint while the account had the key of another member, which does not show this one: both can run
 * (docs/explanation/correctness.md, "What is not guaranteed").
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
function waitsForBudget(world: World, object: Json, type: "Ready" | "Synced" = "Ready"): boolean {
  return textAt(condition(object, type), "reason") === "BudgetExceeded" && isUsedUp(world);
}

/** A user's request to create the endpoint again waited for the budget, and has to be repeated when the budget allows it. */
const awaitsRequestAndBudget = (world: World, { kind }: ObjectPlan, object: Json): boolean =>
  isUsedUp(world) && kind === "GpuEndpoint" && awaitsUser(object, ["RemoteMissing"]);

/** The input of a video does not exist, or comes from a job that has failed. A user has to act, and the reason says so. */
function awaitsInput(world: World, { input, namespace }: ObjectPlan, object: Json): boolean {
  if (input === undefined) return false;
  const reason = textAt(condition(object, "Ready"), "reason");
  if (input.from !== "Job") {
    return reason === "ObjectNotFound" && world.bucket.find(uriOf(namespace, input.key)) === undefined;
  }
  const source = world.cluster.get(resourceOf(input), { namespace, name: input.name });
  if (source === undefined) return reason === "SourceNotFound";
  if (textAt(source["status"], "phase") === "Failed") return reason === "SourceFailed";
  const planned = world.plan.objects.find(({ serial }) => serial === serialOf(source));
  const waits = isSuspended(source) || (planned !== undefined && awaitsInput(world, planned, source));
  return waits && reason === "WaitingForSource";
}

function isUsedUp({ plan, service }: World): boolean {
  if (plan.budgetTasks === undefined) return false;
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

export function conditionsOf(object: Json | undefined): Json[] {
  const { conditions } = objectAt(object, "status");
  return Array.isArray(conditions) ? conditions.filter(isJson) : [];
}

export function condition(object: Json | undefined, type: string): Json | undefined {
  return conditionsOf(object).find((one) => one["type"] === type);
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
