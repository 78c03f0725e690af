import { stat } from "node:fs/promises";
import { PAID } from "../../faults/paid-calls.ts";
import { type AnyObject, type AuditEntry, condition } from "../../support/world.ts";
import { DONE, FAILED, objectOf, phaseOf, type Truth, taskOf } from "./truth.ts";

/**
 * Whether a kill may have interrupted a request that the service logged at `at` (ms since the epoch), before its outcome was
 * recorded. A request that the service has not logged may have been interrupted by any kill.
 */
export type Interrupted = (at: number | undefined) => boolean;

export type Verdict = {
  /** Requests that took effect more often than the job's policy allows, and endpoints that were created twice. */
  duplicates: string[];
  /** Paid work whose result does not reach its job although its response did. */
  losses: string[];
  /** Statuses that contradicted the service for longer than a sweep. */
  contradictions: string[];
  /** What had not settled at the end. */
  wrong: string[];
  phases: Record<string, number>;
  taken: number;
};

export function endedJobs({ jobs }: Truth): number {
  return jobs.filter(hasEnded).length;
}

function hasEnded(job: AnyObject): boolean {
  return ["Succeeded", "Failed", "Halted"].includes(phaseOf(job));
}

export type Expected = {
  /** Endpoints: name to workers.max. */
  wanted: ReadonlyMap<string, number>;
  ignoresUpdates: boolean;
  /** Reasons for which jobs, and creates and further workers of endpoints, may wait. */
  waits: readonly string[];
};

/** What has not ended as it must. Empty: everything has settled. */
export function wrongs(truth: Truth, { wanted, ignoresUpdates, waits }: Expected): string[] {
  const found: string[] = [];
  for (const job of truth.jobs) {
    if (hasEnded(job)) continue;
    const ready = condition(job, "Ready");
    if (waits.includes(ready?.reason ?? "")) continue;
    found.push(`${job.metadata.name} is ${phaseOf(job)}: ${ready?.reason} ${ready?.message}`);
  }
  const served = new Set<string>();
  /** Their last creates surely had no effect, and the next ones wait. */
  const held = new Set<string>();
  for (const object of truth.endpoints) {
    const { name, generation } = object.metadata;
    const [ready, synced] = [condition(object, "Ready"), condition(object, "Synced")];
    const remote = truth.remoteEndpoints.get(String(object.status?.["endpointID"]));
    if (remote !== undefined) served.add(remote.id);
    if (remote === undefined && wanted.has(name) && waits.includes(ready?.reason ?? "")) {
      held.add(name);
      continue;
    }
    // More workers cost more.
    const grows = Number(remote?.parameters.workerConfig.maxNum) < Number(wanted.get(name));
    if (grows && waits.includes(synced?.reason ?? "")) continue;
    const differs = remote?.parameters.workerConfig.maxNum !== wanted.get(name);
    if (ignoresUpdates && (differs || !wanted.has(name)) && synced?.status !== "True") continue;
    if (!wanted.has(name)) found.push(`${name} is deleted and still there: ${ready?.reason} ${ready?.message}`);
    else if (ready?.status !== "True") found.push(`${name} is not Ready: ${ready?.reason} ${ready?.message}`);
    else if (object.status?.["observedGeneration"] !== generation) found.push(`${name} shows an earlier spec`);
    else if (differs) found.push(`${name} is served with ${remote?.parameters.workerConfig.maxNum} workers`);
  }
  if (truth.endpoints.length < wanted.size) found.push(`${wanted.size - truth.endpoints.length} endpoints are missing`);
  // A deletion waits for an update that takes effect. Until then the object stays, whose status may not show its endpoint.
  const kept = truth.endpoints.map(({ metadata }) => metadata.name);
  const waiting = new Set(kept.filter((name) => ignoresUpdates && !wanted.has(name)));
  for (const remote of truth.remoteEndpoints.values()) {
    const runs = remote.parameters.workerConfig.maxNum > 0;
    if (!runs || served.has(remote.id) || waiting.has(objectOf(remote))) continue;
    found.push(`${remote.parameters.appName} runs without an object`);
  }
  const left = truth.open.filter((name) => !waiting.has(name) && !held.has(name));
  if (left.length > 0) found.push(`no outcome is shown of requests of ${left.join(", ")}`);
  return found;
}

export async function verdictOf(
  truth: Truth,
  audit: readonly AuditEntry[],
  interrupted: Interrupted,
): Promise<Pick<Verdict, "duplicates" | "losses" | "phases" | "taken">> {
  const calls = Map.groupBy(
    audit.filter(({ operation }) => PAID.includes(operation)),
    ({ body }) => /job-\d+-end/.exec(JSON.stringify(body))?.[0] ?? "",
  );
  const created = Map.groupBy(
    audit.filter(({ effect }) => effect === "EndpointCreated"),
    ({ body }) => String((body?.["endpoint"] as { appName?: string } | undefined)?.appName),
  );
  const duplicates = [...created].flatMap(([name, all]) =>
    all.length > 1 ? [`${name} was created ${all.length} times`] : [],
  );
  const losses: string[] = [];
  for (const job of truth.jobs) {
    const sent = calls.get(job.metadata.name) ?? [];
    const taken = sent.filter(({ effect }) => effect !== undefined);
    const resubmits = job.spec["onSubmissionUnknown"] === "Resubmit";
    const allowed = resubmits ? Number(job.status?.["attempts"] ?? 0) : 1;
    if (taken.length > allowed) duplicates.push(`${job.metadata.name} was paid ${taken.length} times`);
    const loss = lossOf(job, { sent, taken, truth, interrupted }) ?? (await missingResultOf(job));
    if (loss !== undefined) losses.push(`${job.metadata.name} ${loss}`);
  }
  const phases: Record<string, number> = {};
  for (const job of truth.jobs) phases[phaseOf(job)] = (phases[phaseOf(job)] ?? 0) + 1;
  const taken = [...calls.values()].flat().filter(({ effect }) => effect !== undefined).length;
  return { duplicates, losses, phases, taken };
}

type Evidence = { sent: AuditEntry[]; taken: AuditEntry[]; truth: Truth; interrupted: Interrupted };

/** Why the end of a job does not fit what the service did for it. */
function lossOf(job: AnyObject, { sent, taken, truth, interrupted }: Evidence): string | undefined {
  const task = truth.remoteTasks.get(taskOf(job) ?? "");
  switch (phaseOf(job)) {
    case "Succeeded":
      if (taken.length === 0) return "succeeded, and the service took nothing";
      return taskOf(job) !== undefined && task?.status !== DONE
        ? `succeeded, and its task is ${task?.status}`
        : undefined;
    case "Failed":
      return taken.length > 0 && task?.status !== FAILED ? "failed, and the service took its request" : undefined;
    case "Halted": {
      const last = sent.at(-1);
      if (last?.fault !== undefined || interrupted(last && Date.parse(last.time))) return undefined;
      return last === undefined ? "is halted, and nothing was sent" : "is halted, and its response was complete";
    }
    default:
      return undefined;
  }
}

type Result = { url?: string; artifact?: { uri: string; bytes: number } };

/** What a succeeded job lacks: a result, or its copy in the store. */
async function missingResultOf(job: AnyObject): Promise<string | undefined> {
  if (phaseOf(job) !== "Succeeded") return undefined;
  const results = (job.status?.["results"] ?? []) as Result[];
  if (results.length === 0) return "succeeded without a result";
  for (const { url, artifact } of results) {
    if (artifact === undefined && job.spec["output"] !== undefined) return "succeeded without a copy of its result";
    if (artifact === undefined && !url) return "succeeded without the URL of its result";
    if (artifact === undefined) continue;
    const stored = await stat(new URL(artifact.uri)).catch(() => undefined);
    if (stored?.size !== artifact.bytes || stored.size === 0) {
      return `has stored ${artifact.bytes} bytes, and its file has ${stored?.size ?? "none"}`;
    }
  }
  return undefined;
}
