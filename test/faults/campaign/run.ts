import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { KubeObject } from "../../../src/kube/types.ts";
import { createRandom, type Random } from "../../../src/simulator/random.ts";
import { manifest, merged, type Variant } from "../../support/manifests.ts";
import { createWorld, eventually, type World } from "../../support/world.ts";
import { evidenceOf, keepRecords } from "./evidence.ts";
import { createOperators } from "./operators.ts";
import type { Switch } from "./switches.ts";
import { readTruth, type Truth } from "./truth.ts";
import { type Expected, endedJobs, type Verdict, verdictOf, wrongs } from "./verdict.ts";
import { createWitness } from "./witness.ts";

export type RunOptions = {
  jobs: number;
  endpoints: number;
  /** SIGKILLs of the operator while work arrives. */
  kills: number;
  seed: number;
  /** Work arrives, and faults hit, for this long. */
  arrivalMs: number;
  /** The run ends while endpoints still look for a create with an unknown outcome. */
  endsEarly: boolean;
  /** Folder for the records of a run with a complaint. Default: none. */
  keep?: string | undefined;
};

/**
 * `switches`: how many were on. `lingering`: what settled last, when it took long. `longestPauseMs`: between two polls of one
 * task. `comparisonMs`: the slowest comparison of both sides, which shows how busy the machine is. `evidence`: what led to the first complaint.
 */
export type RunReport = Verdict & {
  name: string;
  switches: number;
  options: RunOptions;
  tookMs: number;
  longestPauseMs: number;
  comparisonMs: number;
  settledAfterMs: number;
  calls: number;
  faults: number;
  lingering: string[];
  evidence: string[];
};

const VARIANTS: readonly [Variant, (text: string) => Record<string, unknown>][] = [
  ["hd", (text) => ({ text })],
  ["turbo", (text) => ({ text })],
  ["turbo", (text) => ({ text, stream: true, output: { storeRef: { name: "results" } } })],
  ["image", (text) => ({ imageToVideo: { prompt: text } })],
  ["reference", (text) => ({ videoToVideo: { input: { prompt: text } } })],
];
/** The service works this much faster than it does in production. */
const TIME_SCALE = 0.2;
/** How long a synchronous synthesis takes, before the time scale, unless a switch changes it. */
const SYNTHESIS_MS = 100;
const SYNC_SECONDS = 5;
const SETTLE_MS = 240_000;
/** What has not settled by this time is reported. */
const LINGERS_MS = 30_000;
/** Faults end when this share of the jobs has ended, or after three times the arrival. */
const SHARE_UNDER_FAULTS = 0.8;
const ACCOUNT = { requestTimeout: "10s", endpoints: { syncInterval: `${SYNC_SECONDS}s`, pageSize: 20 } };

/** Runs one combination of switches against a real operator. The combination is named in the report. */
export async function runCombination(switches: readonly Switch[], options: RunOptions): Promise<RunReport> {
  const startedAt = performance.now();
  const random = createRandom(options.seed);
  const merge = (parts: (Record<string, unknown> | undefined)[]) =>
    parts.reduce<Record<string, unknown>>((all, part) => merged(all, part ?? {}), {});
  const root = await mkdtemp(join(tmpdir(), "mooring-campaign-"));
  const world = await createWorld("campaign", {
    seed: options.seed,
    simulator: merge([{ timeScale: TIME_SCALE }, ...switches.map(({ simulator }) => simulator)]),
    account: merge([ACCOUNT, ...switches.map(({ account }) => account)]),
  });
  try {
    await world.control(
      "POST",
      "/__faults",
      switches.flatMap(({ faults = [] }) => faults),
    );
    await world.apply({ kind: "ArtifactStore", metadata: { name: "results" }, spec: { volume: { path: "results" } } });
    const operators = createOperators(world, root);
    await operators.start();
    const witness = createWitness(world, { sweepMs: SYNC_SECONDS * 1_000, operators });
    const [wanted] = await Promise.all([
      arrive(world, options, random),
      operators.killAtRandom({ kills: options.kills, withinMs: options.arrivalMs }, random),
    ]);
    // On a busy machine, most of the work is left by now: the faults have to meet it.
    await eventually(
      "most jobs have ended",
      async () => endedJobs(await readTruth(world)) >= options.jobs * SHARE_UNDER_FAULTS,
      options.arrivalMs * 3,
    ).catch(() => undefined);
    await world.control("DELETE", "/__faults");

    const calmAt = performance.now();
    const expected: Expected = {
      wanted,
      ignoresUpdates: switches.some(({ ignoresUpdates }) => ignoresUpdates === true),
      creating: options.endsEarly,
      waits: switches.flatMap(({ waits }) => waits ?? []),
    };
    let truth: Truth = await eventually("both sides are read", () => readTruth(world));
    let left: string[] = ["not looked at"];
    let lingering: string[] = [];
    await eventually(
      "everything has settled",
      async () => {
        truth = await readTruth(world);
        left = wrongs(truth, expected);
        if (left.length > 0 && performance.now() - calmAt > LINGERS_MS) lingering = left;
        return left.length === 0;
      },
      SETTLE_MS,
    ).catch(() => undefined);
    const { contradictions, slowestMs: comparisonMs, longestPauseMs } = await witness.stop();
    const audit = await world.audit();
    const records = { audit, logs: operators.logs(), truth };
    const slowestMs = Math.max(...switches.map(({ simulator }) => simulator?.speechLatencyMs ?? SYNTHESIS_MS));
    // On a busy machine, the record of a response takes as long as a comparison.
    const kills = operators.kills(slowestMs * TIME_SCALE + comparisonMs);
    const verdict = await verdictOf(truth, audit, kills);
    const complaints = [...left, ...contradictions, ...verdict.losses, ...verdict.duplicates];
    const name = switches.map(({ name }) => name).join(" + ");
    if (options.keep !== undefined && complaints.length > 0) {
      await keepRecords(options.keep, `${name}, seed ${options.seed}, ${world.namespace}`, records);
    }
    return {
      name,
      switches: switches.length,
      options,
      tookMs: performance.now() - startedAt,
      ...verdict,
      wrong: left,
      contradictions,
      longestPauseMs,
      comparisonMs,
      lingering,
      evidence: evidenceOf(complaints[0], records),
      settledAfterMs: performance.now() - calmAt,
      calls: audit.length,
      faults: audit.filter(({ fault }) => fault !== undefined).length,
    };
  } finally {
    await world.close();
    await rm(root, { recursive: true, force: true });
  }
}

/**
 * Creates jobs and endpoints, changes half of the endpoints and deletes a fifth. Another client of the service changes the rest.
 * Returns the endpoints that are left: name to workers.max.
 */
async function arrive(world: World, options: RunOptions, random: Random): Promise<Map<string, number>> {
  const { jobs, endpoints, arrivalMs } = options;
  const wanted = new Map<string, number>();
  const at = (ms: number, work: () => Promise<unknown>) => sleep(ms).then(work);
  const works: Promise<unknown>[] = [];
  for (let index = 0; index < jobs; index++) {
    const [variant, change] = VARIANTS[Math.floor(index / 4) % VARIANTS.length] ?? VARIANTS[0] ?? never();
    const name = `job-${String(index).padStart(4, "0")}-end`;
    const policy = index % 4 === 3 ? { onSubmissionUnknown: "Resubmit" } : {};
    works.push(
      at(arrivalMs * random.next(), () => world.apply(manifest(variant, { ...change(name), ...policy }, name))),
    );
  }
  for (let index = 0; index < endpoints; index++) {
    const name = `endpoint-${index}`;
    const createAt = arrivalMs * 0.5 * random.next();
    const laterAt = createAt + (arrivalMs - createAt) * random.next();
    const fate = random.next();
    const max = 2 + Math.floor(random.next() * 5);
    const object: KubeObject & { kind: string } = manifest("endpoint", { workers: { max } }, name);
    wanted.set(name, fate < 0.2 || fate >= 0.7 ? max : max + 1);
    if (fate < 0.2) wanted.delete(name);
    works.push(
      at(createAt, () => world.apply(object)).then(async () => {
        await sleep(laterAt - createAt);
        if (fate < 0.2) await world.remove("GpuEndpoint", name);
        else if (fate < 0.7) await world.patch("GpuEndpoint", name, { spec: { workers: { max: max + 1 } } });
        else await changeRemote(world, name, max + 2);
      }),
    );
  }
  await Promise.all(works);
  return wanted;
}

/** As another client of the service. Changes nothing while the status shows no endpoint. */
async function changeRemote(world: World, name: string, max: number): Promise<void> {
  const id = (await world.get("GpuEndpoint", name)).status?.["endpointID"];
  if (id !== undefined) await world.control("POST", `/__state/endpoints/${id}`, { workerConfig: { maxNum: max } });
}

function never(): never {
  throw new Error("there is no variant");
}
