import { HEALTHY } from "./cases.ts";
import { ENDPOINT } from "./companions.ts";
import { execute, resourceOf, type Specs } from "./driver.ts";
import { createSpecWorld, type SpecWorld } from "./world.ts";

/** Checks what the operator makes of specs. */
export type SpecFuzzer = {
  /** @throws Error that shows the specs and what is wrong */
  check(one: Specs): Promise<void>;
  /** Specs by kind and outcome. */
  executions(): Map<string, number>;
  end(): void;
};

/** What earlier objects left in a world slows it down. */
const OBJECTS_PER_WORLD = 50;
const START_MS = 120_000;
const SHOWN_PROBLEMS = 5;
const SHOWN_CHARACTERS = 4_000;

/**
 * @param artifactRoot folder for the volumes of ArtifactStores
 * @param unhandled rejections that nobody handled since the last call
 */
export function createSpecFuzzer(artifactRoot: string, unhandled: () => unknown[]): SpecFuzzer {
  const counts = new Map<string, number>();
  let world: SpecWorld | undefined;
  let objects = 0;

  async function startWorld(): Promise<SpecWorld> {
    const { namespace, name } = HEALTHY;
    const started = createSpecWorld(artifactRoot);
    started.cluster.create(resourceOf("GpuEndpoint"), namespace, { metadata: { name }, spec: ENDPOINT });
    while (await started.scheduler.step(START_MS));
    return started;
  }

  function endWorld(): void {
    world?.end();
    world = undefined;
    objects = 0;
  }

  return {
    async check(one) {
      world ??= await startWorld();
      objects += 1;
      const serial = objects;
      const { outcomes, problems } = await execute(world, one, serial);
      for (const outcome of outcomes) {
        const name = `${one.kind}: ${outcome}`;
        counts.set(name, (counts.get(name) ?? 0) + 1);
      }
      problems.push(...unhandled().map((reason) => `unhandled: ${reason instanceof Error ? reason.stack : reason}`));
      // The next object finds a world without the traces of this one.
      if (problems.length > 0 || objects >= OBJECTS_PER_WORLD) endWorld();
      if (problems.length === 0) return;
      const specs = JSON.stringify(one.specs(`fuzz-${serial}`)).slice(0, SHOWN_CHARACTERS);
      throw new Error(`${one.kind}: ${problems.slice(0, SHOWN_PROBLEMS).join("\n")}\n${specs}`);
    },
    executions: () => counts,
    end: endWorld,
  };
}
