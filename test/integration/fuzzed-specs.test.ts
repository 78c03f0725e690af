import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it, onTestFinished } from "vitest";
import { createSemaphore } from "../../src/base/semaphore.ts";
import { KubeError } from "../../src/kube/errors.ts";
import { anyCase, type Case, changeable, specsOf } from "../fuzz/specs/cases.ts";
import { ENDPOINT } from "../fuzz/specs/companions.ts";
import { isHandled, outcomeOf, resourceOf } from "../fuzz/specs/driver.ts";
import { statusProblems } from "../fuzz/specs/oracles.ts";
import { CANARY } from "../fuzz/specs/world.ts";
import { isJson, type Json, objectAt, parseJson } from "../sim/api-server/json.ts";
import { type AnyObject, createWorld, eventually, type World, waitForCondition } from "../support/world.ts";

/** The long form is `npm run test:sim -- fuzz --specs`, which has no real API server. MOORING_FUZZED_SPECS sets the number of objects. */
const OBJECTS = Number(process.env["MOORING_FUZZED_SPECS"] ?? 40);
const SEED = Number(process.env["MOORING_FUZZED_SPECS_SEED"] ?? 1);
/** Objects at once. */
const PARALLEL = 10;

const shown = (object: AnyObject): Json => {
  const json = parseJson(JSON.stringify(object));
  return isJson(json) ? json : {};
};

it(`${OBJECTS} fuzzed specs are refused by the API server or handled, and the operator goes on`, async () => {
  const { world, operator } = await startWorld();
  const outcomes = new Map<string, number>();
  const problems: string[] = [];
  const pool = createSemaphore({ capacity: PARALLEL });
  // A ClusterAccount would be taken by the operators of all tests.
  const cases = fc
    .sample(anyCase, { seed: SEED, numRuns: 2 * OBJECTS })
    .filter(({ kind }) => kind !== "ClusterAccount");
  const runs = cases.slice(0, OBJECTS).map(async (one, serial) => {
    const release = await pool.take("", 1, new AbortController().signal);
    try {
      const execution = await run(world, one, `fuzz-${serial}`);
      for (const outcome of execution.outcomes) outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      problems.push(...execution.problems.map((problem) => `${JSON.stringify(one).slice(0, 1_000)}: ${problem}`));
    } finally {
      release();
    }
  });
  await Promise.all(runs);
  console.log(
    [...outcomes]
      .map(([outcome, count]) => `${outcome} ${count}`)
      .sort()
      .join("\n"),
  );

  expect(problems.join("\n")).toBe("");
  await world.patch("GpuEndpoint", "healthy", { spec: { workers: { max: 3 } } });
  await eventually("the healthy endpoint has its new workers", async () => {
    const { metadata, status } = await world.get("GpuEndpoint", "healthy");
    return status?.["observedGeneration"] === metadata.generation;
  });
  await waitForCondition(world, "GpuEndpoint", "healthy", "Ready");
  expect(await Promise.race([operator.exited, Promise.resolve("running")])).toBe("running");
  const log = operator.log();
  expect(log.split("\n").filter((line) => /reconcile threw|unhandled/i.test(line))).toEqual([]);
  expect(log).not.toContain(CANARY);
  expect(JSON.stringify(await world.list("Event"))).not.toContain(CANARY);
});

async function startWorld() {
  const root = await mkdtemp(join(tmpdir(), "mooring-fuzzed-specs-"));
  onTestFinished(() => rm(root, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 }));
  const world = await createWorld("fuzzed-specs", { simulator: { timeScale: 0 } });
  for (const name of ["values", "other"]) {
    const stringData = { value: `${CANARY}-value`, other: `${CANARY}-other` };
    await world.apply({ apiVersion: "v1", kind: "Secret", metadata: { name }, stringData });
    await world.apply({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name },
      data: { value: "one", other: "two" },
    });
  }
  await world.apply({ kind: "ArtifactStore", metadata: { name: "volume" }, spec: { volume: { path: "volume" } } });
  await world.apply({ kind: "GpuEndpoint", metadata: { name: "healthy" }, spec: ENDPOINT });
  const operator = await world.startOperator({ args: [`--artifact-root=${root}`] });
  await waitForCondition(world, "GpuEndpoint", "healthy", "Ready");
  return { world, operator };
}

/** Takes an object through its specs, as test/fuzz/specs/driver.ts does without a real API server. */
async function run(world: World, one: Case, name: string): Promise<{ outcomes: string[]; problems: string[] }> {
  const outcomes: string[] = [];
  const problems: string[] = [];
  const resource = resourceOf(one.kind);
  for (const spec of specsOf(one, name, world.simulator.url)) {
    const refusal = await store(world, one.kind, name, spec);
    if (refusal !== undefined) {
      if (refusal === "") problems.push("is refused without a message");
      outcomes.push(`${one.kind}: refused by the API server`);
      continue;
    }
    const object = await eventually(`${one.kind} ${name} is handled`, async () => {
      const current = await find(world, one.kind, name);
      return current === undefined ? "gone" : isHandled(shown(current)) && current;
    });
    outcomes.push(`${one.kind}: ${object === "gone" ? "gone" : outcomeOf(shown(object))}`);
    if (object !== "gone") problems.push(...statusProblems(resource, objectAt(shown(object), "status")));
  }
  return { outcomes, problems };
}

/** Undefined: stored. Otherwise the message with which the API server refuses the spec. */
async function store(world: World, kind: string, name: string, spec: Json): Promise<string | undefined> {
  try {
    const present = await find(world, kind, name);
    if (present === undefined) {
      await world.apply({ kind, metadata: { name }, spec });
      return undefined;
    }
    const place = { namespace: world.namespace, name };
    const changed = changeable(kind, objectAt(shown(present), "spec"), spec);
    await world.kube.update<AnyObject>(resourceOf(kind), place, { ...present, spec: changed });
    return undefined;
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    if (error.status === 409) return store(world, kind, name, spec);
    if (error.status !== 400 && error.status !== 422) throw error;
    return error.message;
  }
}

async function find(world: World, kind: string, name: string): Promise<AnyObject | undefined> {
  const objects = await world.list(kind);
  return objects.find(({ metadata }) => metadata.name === name);
}
