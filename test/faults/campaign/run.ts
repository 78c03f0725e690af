import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { KubeObject } from "../../../src/kube/types.ts";
import { createRandom, type Random } from "../../../src/simulator/random.ts";
import { manifest, merged, type Variant } from "../../support/manifests.ts";
import { createWorld, eventually, type Operator, type World } from "../../support/world.ts";
import { evidenceOf } from "./evidence.ts";
import type { Switch } from "./switches.ts";
import {
  createWitness,
  type Expected,
  endedJobs,
  readTruth,
  type Truth,
  type Verdict,
  verdictOf,
  wrongs,
} from "./verdict.ts";

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
};

/** `lingering`: what settled last, when it took long. `evidence`: what led to the first complaint. */
export type RunReport = Verdict & {
  name: string;
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
const SYNC_SECONDS = 5;
const SETTLE_MS = 240_000;
/** What has not settled by this time is reported. */
const LINGERS_MS = 30_000;
/** Faults end when this share of the jobs has ended, or after three times the arrival. */
const SHARE_UNDER_FAULTS = 0.8;
const ACCOUNT = { requestTimeout: "10s", endpoints: { syncInterval: `${SYNC_SECONDS}s`, pageSize: 20 } };

/** Runs one combination of switches against a real operator. The combination is named in the report. */
export async function runCombination(switches: readonly Switch[], options: RunOptions): Promise<RunReport> {
  const random = createRandom(options.seed);
  const merge = (parts: (Record<string, unknown> | undefined)[]) =>
    parts.reduce<Record<string, unknown>>((all, part) => merged(all, part ?? {}), {});
  const root = await mkdtemp(join(tmpdir(), "mooring-campaign-"));
  const world = await createWorld("campaign", {
    seed: options.seed,
    simulator: merge([{ timeScale: 0.2 }, ...switches.map(({ simulator }) => simulator)]),
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
    const witness = createWitness(world, { sweepMs: SYNC_SECONDS * 1_000, upSince: operators.upSince });
    const [wanted] = await Promise.all([arrive(world, options, random), operators.killAtRandom(options, random)]);
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
    let truth: Truth = await readTruth(world);
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
    const contradictions = await witness.stop();
    const audit = await world.audit();
    const evidence = evidenceOf([...left, ...contradictions][0], { audit, logs: operators.logs(), truth });
    return {
      name: switches.map(({ name }) => name).join(" + "),
      ...(await verdictOf(truth, audit, options.kills)),
      wrong: left,
      contradictions,
      lingering,
      evidence,
      settledAfterMs: performance.now() - calmAt,
      calls: audit.length,
      faults: audit.filter(({ fault }) => fault !== undefined).length,
    };
  } finally {
    await world.close();
    await rm(root, { recursive: true, force: true });
  }
}

/** The operator, and since when it works; undefined: it does not. */
function createOperators(world: World, root: string) {
  let operator: Operator | undefined;
  const all: Operator[] = [];
  let workingSince: number | undefined;
  const start = async () => {
    const started = await world.startOperator({ args: [`--artifact-root=${root}`, "--log-level=info"] });
    operator = started;
    all.push(started);
    await eventually("the operator works", async () => started.log().includes("controllers started"));
    workingSince = performance.now();
  };
  return {
    start,
    upSince: () => workingSince,
    logs: () => all.map(({ log }) => log()),
    async killAtRandom({ kills, arrivalMs }: RunOptions, random: Random): Promise<void> {
      for (let kill = 0; kill < kills; kill++) {
        await sleep((arrivalMs / (kills + 1)) * (0.5 + random.next()));
        workingSince = undefined;
        await operator?.kill();
        await start();
      }
    },
  };
}

/** Creates jobs and endpoints, changes half of the endpoints and deletes a fifth. Returns the endpoints that are left: name to workers.max. */
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
      }),
    );
  }
  await Promise.all(works);
  return wanted;
}

function never(): never {
  throw new Error("there is no variant");
}
