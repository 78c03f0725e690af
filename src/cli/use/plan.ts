import { type Command, Option } from "commander";
import { parseAllDocuments } from "yaml";
import { manifestProblems } from "../../api/manifest/manifest-problems.ts";
import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import { gpuEndpointResource, JOB_RESOURCES, KINDS, mediaBatchResource } from "../../api/v1alpha1/kinds.ts";
import type { MediaBatch } from "../../api/v1alpha1/media-batch.ts";
import { systemClock } from "../../base/clock.ts";
import { oneLine } from "../../base/manifest-yaml.ts";
import { parseYuan } from "../../base/money.ts";
import { accountToUse } from "../../controllers/account/binding.ts";
import { costProblem } from "../../controllers/jobs/prepare.ts";
import { type Job, paidOperation } from "../../controllers/jobs/types.ts";
import { createValueReader } from "../../controllers/references.ts";
import { costOfEndpoint, costOfJob, type PlannedCost, type ReadableAccount } from "../../describe/cost.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isForbidden } from "../../kube/errors.ts";
import type { Resource } from "../../kube/resource.ts";
import type { KubeObject, NamespacedObject } from "../../kube/types.ts";
import { addClusterOptions, type ClusterFlags, lazyCluster } from "../account-source.ts";
import { type AccountConnection, connectAccount, findAccount } from "../connect-account.ts";
import { exitCodesHelp } from "../exit-codes.ts";
import { itemsOf, tableOf } from "../table.ts";
import { KUBECTL_YAML, manifestFiles } from "./manifest-files.ts";
import { type AppliedObject, appliedObject } from "./plan/applied-object.ts";
import { plannedBatch } from "./plan/batch-plan.ts";
import { accountBlockers, costBlocker, jobBlockers, shareBlockers } from "./plan/blockers.ts";
import { planOf } from "./plan/endpoint-plan.ts";
import { blocked, conflict, type Planned, type PlannedAction } from "./plan/planned.ts";
import { unreadShare } from "./plan/unread-share.ts";
import { withManifests } from "./plan/with-manifests.ts";

const FORMATS = ["text", "wide", "json", "yaml", "name"] as const;
type PlanFlags = ClusterFlags & { filename: string[]; output: (typeof FORMATS)[number] };

const CHANGES = 2;
const PROBLEM = 1;
const CHANGING: readonly PlannedAction[] = ["Create", "Update", "Submit"];
const NOT_DONE: readonly PlannedAction[] = ["Blocked", "Conflict"];
const HELP = `
Reads each manifest, asks the API server in a dry run what an apply would make of the object, and reads the remote endpoint
once with the key of its account. Changes nothing. Costs are estimates at the last known prices of the account (status.prices).
Blocked is what the operator does not do before something else is there, such as an account, a Secret or a store. A conflict is
what the API server refuses, or what contradicts the remote endpoint. The text shows the fields that change; -o wide also shows
all fields of a create. Values of variables are hidden.
Objects that the manifests do not have are not deleted by an apply, so they are not listed.

Examples:
  mooring plan -f manifests/
  mooring plan -f endpoint.yaml -n team-a -o wide
  kustomize build . | mooring plan -f -

`;

/** `mooring plan`: what an apply of manifests changes at the service. */
export function registerPlanCommand(program: Command): void {
  const command = program
    .command("plan")
    .description("show what an apply of manifests would change at the service, field by field")
    .requiredOption("-f, --filename <path>", "file, directory, or - for standard input; may be repeated", append);
  addClusterOptions(command)
    .addOption(new Option("-o, --output <format>", "text, wide, json, yaml, or name").choices(FORMATS).default("text"))
    .addHelpText("after", HELP + exitCodesHelp("plan"))
    .action(async (flags: PlanFlags) => {
      process.exitCode = await run(flags);
    });
}

async function run(flags: PlanFlags): Promise<number> {
  const cluster = lazyCluster(flags, process.env);
  const accounts = new Map<string, Promise<AccountConnection>>();
  try {
    const { kube, namespace } = await cluster.open();
    const manifests: unknown[] = [];
    for await (const { path, content } of manifestFiles(flags.filename)) {
      for (const document of parseAllDocuments(content, KUBECTL_YAML)) {
        const [problem] = document.errors;
        if (problem !== undefined) throw new Error(`${path}: ${problem.message}`);
        manifests.push(document.toJS());
      }
    }
    const planner = createPlanner(kube, withManifests(kube, manifests, namespace), accounts);
    const planned: Planned[] = [];
    for (const manifest of manifests) {
      const found = await planner(manifest, namespace);
      if (found !== undefined) planned.push(found);
    }
    process.stdout.write(rendered(planned, flags.output));
    return exitCodeOf(planned);
  } finally {
    for (const opened of accounts.values()) await opened.then(({ session }) => session.close()).catch(() => undefined);
    await cluster.close();
  }
}

/** Plans one manifest; undefined for a document of another group. `after`: the cluster with all manifests. */
function createPlanner(kube: KubeClient, after: KubeClient, accounts: Map<string, Promise<AccountConnection>>) {
  const { signal } = new AbortController();
  const account = (endpoint: GpuEndpoint) => {
    const { namespace } = endpoint.metadata;
    const ref = accountToUse(endpoint);
    const key = JSON.stringify([ref?.kind, ref?.name, namespace]);
    const opened = accounts.get(key) ?? connectAccount(after, namespace, ref);
    accounts.set(key, opened);
    return opened;
  };
  const deps = { kube: after, clock: systemClock, signal, account };

  return async (document: unknown, defaultNamespace: string): Promise<Planned | undefined> => {
    if (document === null) return undefined;
    const problems = manifestProblems(document);
    if (problems === undefined) return undefined;
    const manifest = document as KubeObject;
    const resource = KINDS.find((kind) => kind.resource.kind === manifest.kind)?.resource;
    const name = `${manifest.kind ?? "object"} ${manifest.metadata?.name ?? ""}`.trim();
    if (resource === undefined || problems.length > 0) {
      return { object: name, ...conflict(problems.map(({ path, message }) => `${path.join(".")}: ${message}`)) };
    }
    const place = resource.namespaced ? { namespace: manifest.metadata.namespace ?? defaultNamespace } : {};
    const placed = { ...manifest, metadata: { ...manifest.metadata, ...place } };
    const object = `${resource.kind} ${"namespace" in place ? `${place.namespace}/` : ""}${manifest.metadata.name}`;
    try {
      const applied = await appliedObject(kube, resource, placed);
      if (applied.kind === "Refused") return { object, ...conflict([applied.message]) };
      return { object, ...(await plannedFor(resource, applied)) };
    } catch (error) {
      return { object, ...conflict([error instanceof Error ? error.message : String(error)]) };
    }
  };

  async function plannedFor(
    resource: Resource,
    { object, live }: Extract<AppliedObject<KubeObject>, { kind: "Accepted" }>,
  ): Promise<Omit<Planned, "object">> {
    if (resource === gpuEndpointResource) {
      const endpoint = object as GpuEndpoint;
      const blockers = await accountBlockers(deps, endpoint);
      const planned = await planOf(deps, endpoint, live as GpuEndpoint | undefined).catch((error: unknown) => {
        // Without its account, the remote endpoint cannot be read.
        if (blockers.length === 0) throw error;
        return blocked(blockers);
      });
      if (planned.action !== "Create" && planned.action !== "Update") return planned;
      // What an endpoint has already is paid for: only what changes is refused.
      const changed = planned.action === "Create" ? undefined : planned.changes.map(({ field }) => field);
      const all = [...blockers, ...(await shareBlockers(deps, endpoint, changed))];
      if (all.length > 0) return blocked(all);
      return { ...planned, ...costOfEndpoint(endpoint, await readable(endpoint)) };
    }
    if (resource === mediaBatchResource) {
      const batch = object as MediaBatch;
      const planned = heldJob(batch, live !== undefined);
      const account = await readable(batch);
      return planned ?? { ...(await plannedBatch(deps, batch, account)), ...(await unchecked(batch, account)) };
    }
    if (!JOB_RESOURCES.includes(resource)) return { action: "None", message: "no change at the service", changes: [] };
    const job = object as NamespacedObject as Job;
    const planned = plannedJob(job, live !== undefined);
    if (planned.action !== "Submit") return planned;
    const blockers = await jobBlockers(deps, job);
    if (blockers.length > 0) return blocked(blockers);
    const account = await readable(job);
    const cost = await costOfJob(job, account, createValueReader(after, signal));
    const amount = cost && parseYuan(cost.estimatedCost);
    const problem = costProblem(job, 1, amount, true) ?? (await costBlocker(deps, job, amount));
    if (problem !== undefined) return blocked([`${problem.reason}: ${problem.message}`]);
    return { ...planned, ...cost, ...(await unchecked(job, account)) };
  }

  async function unchecked(object: Job | MediaBatch, account: ReadableAccount): Promise<Pick<Planned, "unchecked">> {
    return account === undefined ? { unchecked: await unreadShare({ kube, signal }, object) } : {};
  }

  /** The account of an object, unless the user may not read it. */
  function readable(object: Job | GpuEndpoint | MediaBatch): Promise<ReadableAccount> {
    return findAccount(after, object.metadata.namespace, accountToUse(object)).catch((error: unknown) => {
      if (!isForbidden(error)) throw error;
      return undefined;
    });
  }
}

/** The spec of a job cannot be changed, so only a new job sends a request. */
export function plannedJob(job: Job, exists: boolean): Omit<Planned, "object"> {
  return (
    heldJob(job, exists) ?? { action: "Submit", message: `send a paid request (${paidOperation(job)})`, changes: [] }
  );
}

/** Why a job or a batch sends nothing. Undefined: it does. */
function heldJob({ spec }: Job | MediaBatch, exists: boolean): Omit<Planned, "object"> | undefined {
  const held = spec.suspend ? "it is suspended" : spec.managedBy && `${spec.managedBy} runs it`;
  const reason = exists ? "the job exists" : held;
  return reason ? { action: "None", message: `no change: ${reason}`, changes: [] } : undefined;
}

export function exitCodeOf(planned: readonly Planned[]): number {
  if (planned.some(({ action }) => NOT_DONE.includes(action))) return PROBLEM;
  return planned.some(({ action }) => CHANGING.includes(action)) ? CHANGES : 0;
}

export function rendered(planned: readonly Planned[], format: PlanFlags["output"]): string {
  if (format === "json" || format === "yaml") return itemsOf(planned, format);
  if (format === "name") {
    const changing = planned.filter(({ action }) => CHANGING.includes(action));
    return changing.map(({ object }) => `${object.replace(" ", "/")}\n`).join("");
  }
  return [...planned.map((one) => block(one, format === "wide")), summary(planned)].join("\n");
}

function block(
  { object, action, message, changes, problems = [], unchecked, ...cost }: Planned,
  wide: boolean,
): string {
  const list = problems.map((problem) => `  ${oneLine(problem)}\n`).join("");
  const head = `${object}: ${NOT_DONE.includes(action) ? `${action.toLowerCase()}: ` : ""}${oneLine(message)}${costText(cost)}\n${list}${unchecked === undefined ? "" : `  ${oneLine(unchecked)}\n`}`;
  const shown = action === "Create" && !wide ? [] : changes;
  if (shown.length === 0) return head;
  const rows = shown.map(({ field, before, after }) => [field, before, after].map((text) => oneLine(text) || "-"));
  const table = tableOf(["FIELD", "NOW", "AFTER"], rows);
  return head + table.replaceAll(/^(?=.)/gm, "  ");
}

function costText({ estimatedCost, per }: Partial<PlannedCost>): string {
  if (estimatedCost === undefined) return "";
  return per === "Hour" ? `; costs up to ${estimatedCost} yuan an hour` : `; costs about ${estimatedCost} yuan`;
}

function summary(planned: readonly Planned[]): string {
  const count = (action: PlannedAction) => planned.filter((one) => one.action === action).length;
  const parts = [
    `${count("Create")} to create`,
    `${count("Update")} to update`,
    `${count("Submit")} to submit`,
    `${count("None")} unchanged`,
    `${count("Blocked")} blocked`,
    `${count("Conflict")} in conflict`,
  ];
  return `${parts.join(", ")}\n`;
}

function append(value: string, values: string[] = []): string[] {
  return [...values, value];
}
