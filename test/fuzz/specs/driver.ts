import { KINDS } from "../../../src/api/v1alpha1/kinds.ts";
import type { Resource } from "../../../src/kube/resource.ts";
import { type Json, objectAt, textAt } from "../../sim/api-server/json.ts";
import { condition } from "../../sim/invariants/stability.ts";
import type { PlacedAt } from "../../sim/scenario/cluster.ts";
import { changeable, HEALTHY, NAMESPACE } from "./cases.ts";
import { type Companion, companionsOf } from "./companions.ts";
import { countWrites, healthProblems, problemsOf } from "./oracles.ts";
import type { SpecWorld } from "./world.ts";

/** `outcomes`: of each spec, that the API server refused it, or the condition that the object showed. */
export type Execution = { outcomes: string[]; problems: string[] };

/** A spec is handled, and a deleted object is gone, within this time. */
const HANDLED_MS = 150_000;
/** Tasks end, lists are read again, and what is retried backs off. */
const SETTLE_MS = 45_000;
/** Hardly anything is written for so long then. */
const QUIET_MS = 60_000;
const LOOK_MS = 1_000;
/** Events of the simulation in a second: more are a loop without a pause. */
const MOST_STEPS_PER_LOOK = 5_000;

/** The specs of an object, one after the other. */
export type Specs = { kind: string; specs: (name: string) => Json[] };

/** Takes an object through its specs, in a world in which a healthy object changes too. */
export async function execute(world: SpecWorld, one: Specs, serial: number): Promise<Execution> {
  const resource = resourceOf(one.kind);
  const name = `fuzz-${serial}`;
  const place: PlacedAt = resource.namespaced ? { namespace: NAMESPACE, name } : { name };
  const object = () => world.cluster.get(resource, place);
  const companions = companionsOf(one.kind, name);
  const outcomes: string[] = [];
  const problems: string[] = [];
  world.observed();
  const maxWorkers = 1 + (serial % 7);
  world.cluster.patch(resourceOf("GpuEndpoint"), HEALTHY, { spec: { workers: { max: maxWorkers } } });

  for (const spec of one.specs(name)) {
    if (!store(spec)) {
      outcomes.push("refused by the schema");
      continue;
    }
    for (const companion of companions) createCompanion(world, companion);
    const isInTime = await until(() => isHandled(object()), HANDLED_MS);
    if (problems.length > 0) break;
    if (!isInTime) problems.push(`is not handled within ${HANDLED_MS / 1_000} s: ${shown(object())}`);
    await pass(SETTLE_MS);
    outcomes.push(outcomeOf(object()));
    problems.push(...problemsOf({ kind: one.kind, resource, object: object(), observed: world.observed() }));
    if (problems.length > 0) break;
  }
  if (problems.length === 0 && object() !== undefined) {
    const stop = countWrites(world.storage, resource, name);
    await pass(QUIET_MS);
    problems.push(...problemsOf({ kind: one.kind, resource, object: object(), observed: world.observed() }));
    problems.push(...stop());
  }
  if (problems.length === 0) await leave();
  let waiting: string[] = [];
  const isHealthy = () => {
    waiting = healthProblems(world, HEALTHY, maxWorkers);
    return waiting.length === 0;
  };
  if (problems.length === 0 && !(await until(isHealthy, HANDLED_MS))) problems.push(...waiting);
  return { outcomes, problems };

  /** False: the API server refuses it. */
  function store(spec: Json): boolean {
    const found = object();
    try {
      if (found === undefined) {
        return world.cluster.create(resource, place.namespace, { metadata: { name }, spec });
      }
      const changed = changeable(one.kind, objectAt(found, "spec"), spec);
      return world.cluster.replace(resource, place, { ...found, spec: changed });
    } catch {
      return false;
    }
  }

  /** The user deletes everything, and it goes. */
  async function leave(): Promise<void> {
    const all = [
      ...companions.map(({ resource: of, name: called }) => [of, { namespace: NAMESPACE, name: called }] as const),
      [resource, place] as const,
    ];
    for (const [of, at] of all) {
      const present = () => world.cluster.get(of, at);
      world.cluster.delete(of, at);
      const isGone = await until(() => present() === undefined, HANDLED_MS);
      if (isGone) continue;
      // What its message asks for: nothing but the object goes.
      world.cluster.patch(of, at, { metadata: { annotations: { "mooring.dev/deletion-policy": "Retain" } } });
      if (!(await until(() => present() === undefined, HANDLED_MS))) {
        problems.push(`${of.kind} ${at.name} stays in deletion: ${shown(present())}`);
        return;
      }
    }
    problems.push(...problemsOf({ kind: one.kind, resource, object: undefined, observed: world.observed() }));
  }

  async function until(isDone: () => boolean, ms: number): Promise<boolean> {
    const deadline = world.scheduler.now() + ms;
    while (!isDone()) {
      if (world.scheduler.now() >= deadline || problems.length > 0) return false;
      await pass(LOOK_MS);
    }
    return true;
  }

  async function pass(ms: number): Promise<void> {
    const end = world.scheduler.now() + ms;
    while (world.scheduler.now() < end && problems.length === 0) {
      const look = Math.min(end, world.scheduler.now() + LOOK_MS);
      const before = world.scheduler.steps();
      while (await world.scheduler.step(look)) {
        if (world.scheduler.steps() - before <= MOST_STEPS_PER_LOOK) continue;
        problems.push(`more than ${MOST_STEPS_PER_LOOK} events in a second: a loop without a pause`);
        return;
      }
      await filesAreDone();
    }
  }
}

/** Files of a volume are read and written in real time, and the names and addresses of stores are tried in it. */
async function filesAreDone(): Promise<void> {
  for (let quiet = 0; quiet < 3; quiet++) {
    while (process.getActiveResourcesInfo().some((name) => /^FSReq|^FileHandle|^GetAddrInfo|^TCPConnect/.test(name))) {
      quiet = 0;
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function createCompanion(world: SpecWorld, { resource, name, spec }: Companion): void {
  if (world.cluster.get(resource, { namespace: NAMESPACE, name }) !== undefined) return;
  world.cluster.create(resource, NAMESPACE, { metadata: { name }, spec });
}

/** Another controller's job is left alone. A finished job can be gone already. */
export function isHandled(object: Json | undefined): boolean {
  if (object === undefined || textAt(object["spec"], "managedBy") !== undefined) return true;
  const { observedGeneration } = objectAt(object, "status");
  const reason = textAt(condition(object, "Ready"), "reason") ?? "Pending";
  const waits = condition(object, "Ready")?.["message"] === "Waiting for controller";
  return observedGeneration === objectAt(object, "metadata")["generation"] && reason !== "" && !waits;
}

export function outcomeOf(object: Json | undefined): string {
  if (object === undefined) return "gone";
  const ready = condition(object, "Ready");
  const stalled = condition(object, "Stalled") === undefined ? "" : ", Stalled";
  return `Ready=${textAt(ready, "status")} ${textAt(ready, "reason")}${stalled}`;
}

export function shown(object: Json | undefined): string {
  return JSON.stringify(objectAt(object ?? {}, "status")).slice(0, 1_000);
}

export function resourceOf(kind: string): Resource {
  const found = KINDS.find(({ resource }) => resource.kind === kind);
  if (found === undefined) throw new Error(`there is no kind ${kind}`);
  return found.resource;
}
