import { setTimeout as sleep } from "node:timers/promises";
import { isTooManyRequests } from "../../../src/kube/errors.ts";
import { type AnyObject, type AuditEntry, condition, type World } from "../../support/world.ts";
import { PAID } from "../paid-calls.ts";

type RemoteEndpoint = { id: string; parameters: { appName: string; workerConfig: { maxNum: number } } };
type RemoteTask = { id: string; status: string; endsAtMs: number };

/** Both sides at one time: the objects first, then the service. */
export type Truth = {
  jobs: AnyObject[];
  endpoints: AnyObject[];
  remoteEndpoints: Map<string, RemoteEndpoint>;
  remoteTasks: Map<string, RemoteTask>;
  /** Entries of the journal. */
  intents: number;
};

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

const DONE = "TASK_STATUS_SUCCEED";
const FAILED = "TASK_STATUS_FAILED";
const phaseOf = ({ status }: AnyObject) => String(status?.["phase"]);
const taskOf = ({ status }: AnyObject) => (status?.["taskID"] === undefined ? undefined : String(status["taskID"]));
const maxOf = ({ spec }: AnyObject) => (spec["workers"] as { max: number }).max;

export async function readTruth(world: World): Promise<Truth> {
  const [speech, video, endpoints, journal] = await Promise.all([
    world.list("SpeechJob"),
    world.list("VideoJob"),
    world.list("GpuEndpoint"),
    world.get("ConfigMap", "mooring-journal").catch(() => undefined),
  ]);
  const state = await world.state();
  const { data } = (journal ?? {}) as { data?: { intents?: string } };
  return {
    jobs: [...speech, ...video],
    endpoints,
    remoteEndpoints: new Map((state.endpoints as RemoteEndpoint[]).map((one) => [one.id, one])),
    remoteTasks: new Map((state.tasks as RemoteTask[]).map((one) => [one.id, one])),
    intents: JSON.parse(data?.intents ?? "[]").length,
  };
}

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
  /** Endpoints may still look for the effect of a create whose outcome is unknown, which takes a minute. */
  creating: boolean;
  /** Reasons for which jobs may wait. */
  waits: readonly string[];
};

/** What has not ended as it must. Empty: everything has settled. */
export function wrongs(truth: Truth, { wanted, ignoresUpdates, creating, waits }: Expected): string[] {
  const found: string[] = [];
  for (const job of truth.jobs) {
    if (hasEnded(job)) continue;
    const ready = condition(job, "Ready");
    if (waits.includes(ready?.reason ?? "")) continue;
    found.push(`${job.metadata.name} is ${phaseOf(job)}: ${ready?.reason} ${ready?.message}`);
  }
  const served = new Set<string>();
  for (const object of truth.endpoints) {
    const { name, generation } = object.metadata;
    const [ready, synced] = [condition(object, "Ready"), condition(object, "Synced")];
    const remote = truth.remoteEndpoints.get(String(object.status?.["endpointID"]));
    if (remote !== undefined) served.add(remote.id);
    const differs = remote?.parameters.workerConfig.maxNum !== wanted.get(name);
    if (ignoresUpdates && (differs || !wanted.has(name)) && synced?.status !== "True") continue;
    if (creating && remote === undefined && ["Creating", "Deleting"].includes(ready?.reason ?? "")) continue;
    if (!wanted.has(name)) found.push(`${name} is deleted and still there: ${ready?.reason} ${ready?.message}`);
    else if (ready?.status !== "True") found.push(`${name} is not Ready: ${ready?.reason} ${ready?.message}`);
    else if (object.status?.["observedGeneration"] !== generation) found.push(`${name} shows an earlier spec`);
    else if (differs) found.push(`${name} is served with ${remote?.parameters.workerConfig.maxNum} workers`);
  }
  if (truth.endpoints.length < wanted.size) found.push(`${wanted.size - truth.endpoints.length} endpoints are missing`);
  for (const { id, parameters } of truth.remoteEndpoints.values()) {
    if (!served.has(id) && parameters.workerConfig.maxNum > 0)
      found.push(`${parameters.appName} runs without an object`);
  }
  if (truth.intents > 0) found.push(`${truth.intents} entries are left in the journal`);
  return found;
}

export async function verdictOf(
  truth: Truth,
  audit: readonly AuditEntry[],
  kills: number,
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
    const loss = lossOf(job, { sent, taken, truth, kills });
    if (loss !== undefined) losses.push(`${job.metadata.name} ${loss}`);
  }
  const phases: Record<string, number> = {};
  for (const job of truth.jobs) phases[phaseOf(job)] = (phases[phaseOf(job)] ?? 0) + 1;
  const taken = [...calls.values()].flat().filter(({ effect }) => effect !== undefined).length;
  return { duplicates, losses, phases, taken };
}

type Evidence = { sent: AuditEntry[]; taken: AuditEntry[]; truth: Truth; kills: number };

/** Why the end of a job does not fit what the service did for it. */
function lossOf(job: AnyObject, { sent, taken, truth, kills }: Evidence): string | undefined {
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
      const doubtful = last === undefined || last.fault !== undefined || kills > 0;
      return doubtful ? undefined : "is halted, and its response was complete";
    }
    default:
      return undefined;
  }
}

/** A sweep or a poll can fail, and the machine has other work. */
const SLACK_MS = 15_000;
/** The longest pause between two polls of a young task: 10 s, four times as long while polls start late, and jitter. */
const POLL_MS = 44_000;

/** Compares both sides once a second, and reports what contradicts itself for longer than a sweep while an operator works. */
export function createWitness(
  world: World,
  { sweepMs, upSince }: { sweepMs: number; upSince: () => number | undefined },
): { stop(): Promise<string[]> } {
  const since = new Map<string, number>();
  const reported = new Set<string>();
  let stopped = false;
  let failure: unknown;

  async function look(): Promise<void> {
    const truth = await readTruth(world);
    const now = performance.now();
    const found = new Map(contradictionsIn(truth, Date.now()));
    for (const key of since.keys()) if (!found.has(key)) since.delete(key);
    for (const [key, toleratedMs] of found) {
      const from = since.get(key) ?? now;
      since.set(key, from);
      const up = upSince();
      if (up !== undefined && now - Math.max(from, up) > toleratedMs * sweepMs) reported.add(key);
    }
  }
  const looking = (async () => {
    while (!stopped) {
      await sleep(1_000);
      await look().catch((error: unknown) => {
        // The API server has just started, or the machine has other work.
        if (!isTooManyRequests(error)) failure ??= error;
      });
    }
  })();
  return {
    async stop() {
      stopped = true;
      await looking;
      if (failure !== undefined) throw failure;
      return [...reported];
    },
  };

  /** What a status says and the service does not, and for how many sweeps that is tolerated. */
  function* contradictionsIn(truth: Truth, now: number): Generator<[string, number]> {
    const sweeps = (sweepMs + SLACK_MS) / sweepMs;
    for (const object of truth.endpoints) {
      const { name, generation } = object.metadata;
      const [ready, synced] = [condition(object, "Ready"), condition(object, "Synced")];
      const remote = truth.remoteEndpoints.get(String(object.status?.["endpointID"]));
      const max = remote?.parameters.workerConfig.maxNum;
      if (ready?.status === "True" && remote === undefined) yield [`${name} is Ready without an endpoint`, sweeps];
      if (synced?.status === "True" && synced.observedGeneration === generation && max !== maxOf(object)) {
        yield [`${name} is Synced with ${maxOf(object)} workers, and the service has ${max}`, sweeps];
      }
    }
    const names = new Set(truth.endpoints.map(({ metadata }) => metadata.name));
    for (const { parameters } of truth.remoteEndpoints.values()) {
      const name = parameters.appName.replace(/-[0-9a-f]{10}$/, "");
      const gone = !names.has(name) && parameters.workerConfig.maxNum > 0;
      if (gone) yield [`${name} is gone, and its endpoint runs`, 0];
    }
    for (const job of truth.jobs) {
      const taskID = taskOf(job);
      const phase = phaseOf(job);
      if (taskID === undefined || !["Queued", "Running", "Succeeded"].includes(phase)) continue;
      const task = truth.remoteTasks.get(taskID);
      if (task === undefined) yield [`${job.metadata.name} follows a task that does not exist`, 0];
      else if (phase === "Succeeded" && task.status !== DONE) {
        yield [`${job.metadata.name} is Succeeded, and its task is ${task.status}`, 0];
      } else if (phase !== "Succeeded" && [DONE, FAILED].includes(task.status) && now - task.endsAtMs > POLL_MS) {
        yield [`${job.metadata.name} is ${phase}, and its task is ${task.status}`, SLACK_MS / sweepMs];
      }
    }
  }
}
