import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRandom, type Random } from "../../../src/simulator/random.ts";
import { manifest, merged, type Variant } from "../../support/manifests.ts";
import type { OperatorProcess } from "../operator/process.ts";
import { createStage, NAMESPACE, type Stage } from "../stage/stage.ts";
import type { Switch } from "./switches.ts";
import { readTruth } from "./truth.ts";
import { type Expected, endedJobs, type Verdict, verdictOf, wrongs } from "./verdict.ts";
import { createWitness } from "./witness.ts";

export type RunOptions = {
  jobs: number;
  endpoints: number;
  /** The operator dies so often while work arrives. */
  kills: number;
  seed: number;
  /** Work arrives, and faults hit, for this long. */
  arrivalMs: number;
};

export type RunReport = Verdict & { name: string; settledAfterMs: number; calls: number; faults: number };

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
const RESTART_MS = 1_000;
/** From the request to the service's log, and from the log to the operator's record of the response. */
const DELIVERY_MS = 2_000;
/** Faults end when this share of the jobs has ended, or after three times the arrival. */
const SHARE_UNDER_FAULTS = 0.8;
const ACCOUNT = { requestTimeout: "10s", endpoints: { syncInterval: `${SYNC_SECONDS}s`, pageSize: 20 } };

/** Runs one combination of switches. The combination is named in the report. */
export async function runCombination(switches: readonly Switch[], options: RunOptions): Promise<RunReport> {
  const random = createRandom(options.seed);
  const merge = (parts: (Record<string, unknown> | undefined)[]) =>
    parts.reduce<Record<string, unknown>>((all, part) => merged(all, part ?? {}), {});
  const root = await mkdtemp(join(tmpdir(), "mooring-campaign-"));
  const stage = await createStage({
    seed: options.seed,
    simulator: merge([{ timeScale: TIME_SCALE }, ...switches.map(({ simulator }) => simulator)]),
    account: merge([ACCOUNT, ...switches.map(({ account }) => account)]),
    artifactRoot: root,
  });
  const { now } = stage.scheduler;
  try {
    const faults = switches.flatMap((one) => one.faults ?? []);
    if (faults.length > 0) await stage.control("POST", "/__faults", faults);
    await stage.apply({ kind: "ArtifactStore", metadata: { name: "results" }, spec: { volume: { path: "results" } } });
    const operator = createOperator(stage);
    await operator.start();
    const witness = createWitness(stage, { sweepMs: SYNC_SECONDS * 1_000, upSince: operator.upSince });
    const [wanted] = await Promise.all([arrive(stage, options, random), operator.killAtRandom(options, random)]);
    // The faults have to meet most of the work.
    const end = now() + options.arrivalMs * 3;
    while (now() < end && endedJobs(await readTruth(stage)) < options.jobs * SHARE_UNDER_FAULTS)
      await stage.pass(1_000);
    stage.service.faults.clear();

    const calmAt = now();
    const expected: Expected = {
      wanted,
      ignoresUpdates: switches.some(({ ignoresUpdates }) => ignoresUpdates === true),
      waits: switches.flatMap(({ waits }) => waits ?? []),
    };
    let wrong = wrongs(await readTruth(stage), expected);
    for (; wrong.length > 0 && now() < calmAt + SETTLE_MS; wrong = wrongs(await readTruth(stage), expected)) {
      await stage.pass(1_000);
    }
    const settledAfterMs = now() - calmAt;
    const contradictions = await witness.stop();
    const audit = await stage.audit();
    const slowestMs = Math.max(
      SYNTHESIS_MS,
      ...switches.map(({ simulator }) => simulator?.speechLatencyMs ?? SYNTHESIS_MS),
    );
    const verdict = await verdictOf(await readTruth(stage), audit, operator.interrupted(slowestMs * TIME_SCALE));
    return {
      name: switches.map(({ name }) => name).join(" + "),
      ...verdict,
      wrong: [...wrong, ...stage.exits()],
      contradictions,
      settledAfterMs,
      calls: audit.length,
      faults: audit.filter(({ fault }) => fault !== undefined).length,
    };
  } finally {
    await stage.end();
    await rm(root, { recursive: true, force: true });
  }
}

/** The operators of a run, one after the other. */
function createOperator(stage: Stage) {
  const killedAt: number[] = [];
  let process: OperatorProcess | undefined;
  let since: number | undefined;

  async function start(): Promise<void> {
    process = stage.start();
    await stage.eventually("the operator works", async () => process?.serves(`Account/${NAMESPACE}/default`));
    since = stage.scheduler.now();
  }

  return {
    start,
    upSince: () => since,
    async killAtRandom({ kills, arrivalMs }: RunOptions, random: Random): Promise<void> {
      for (let kill = 0; kill < kills; kill++) {
        await stage.pass((arrivalMs / (kills + 1)) * (0.5 + random.next()));
        since = undefined;
        killedAt.push(stage.service.now());
        process?.kill();
        await stage.pass(RESTART_MS);
        await start();
      }
    },
    /** `slowestMs`: how long the service works on a request before it logs it. */
    interrupted: (slowestMs: number) => (at: number | undefined) =>
      killedAt.some((kill) => at === undefined || Math.abs(kill - at) < slowestMs + DELIVERY_MS),
  };
}

/**
 * Creates jobs and endpoints, changes half of the endpoints and deletes a fifth. Another client of the service changes the rest.
 * Returns the endpoints that are left: name to workers.max.
 */
async function arrive(stage: Stage, options: RunOptions, random: Random): Promise<Map<string, number>> {
  const { jobs, endpoints, arrivalMs } = options;
  const wanted = new Map<string, number>();
  const at = (ms: number, work: () => Promise<unknown>) => stage.pass(ms).then(work);
  const works: Promise<unknown>[] = [];
  for (let index = 0; index < jobs; index++) {
    const [variant, change] = VARIANTS[Math.floor(index / 4) % VARIANTS.length] ?? VARIANTS[0] ?? never();
    const name = `job-${String(index).padStart(4, "0")}-end`;
    const policy = index % 4 === 3 ? { onSubmissionUnknown: "Resubmit" } : {};
    works.push(
      at(arrivalMs * random.next(), () => stage.apply(manifest(variant, { ...change(name), ...policy }, name))),
    );
  }
  for (let index = 0; index < endpoints; index++) {
    const name = `endpoint-${index}`;
    const createAt = arrivalMs * 0.5 * random.next();
    const laterAt = createAt + (arrivalMs - createAt) * random.next();
    const fate = random.next();
    const max = 2 + Math.floor(random.next() * 5);
    const object = manifest("endpoint", { workers: { max } }, name);
    wanted.set(name, fate < 0.2 || fate >= 0.7 ? max : max + 1);
    if (fate < 0.2) wanted.delete(name);
    works.push(
      at(createAt, () => stage.apply(object)).then(async () => {
        await stage.pass(laterAt - createAt);
        if (fate < 0.2) await stage.remove("GpuEndpoint", name);
        else if (fate < 0.7) await stage.patch("GpuEndpoint", name, { spec: { workers: { max: max + 1 } } });
        else await changeRemote(stage, name, max + 2);
      }),
    );
  }
  await Promise.all(works);
  return wanted;
}

/** As another client of the service. Changes nothing while the status shows no endpoint. */
async function changeRemote(stage: Stage, name: string, max: number): Promise<void> {
  const id = (await stage.get("GpuEndpoint", name)).status?.["endpointID"];
  if (id !== undefined) await stage.control("POST", `/__state/endpoints/${id}`, { workerConfig: { maxNum: max } });
}

function never(): never {
  throw new Error("there is no variant");
}
