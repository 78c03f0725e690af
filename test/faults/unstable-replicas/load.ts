import { setTimeout as sleep } from "node:timers/promises";
import { manifest } from "../../support/manifests.ts";
import type { World } from "../../support/world.ts";
import type { Accounts } from "./accounts.ts";
import type { Size } from "./size.ts";

/** The share of the time in which objects are created; then specs are changed alone. */
const CREATING = 0.8;
const PORTION_MS = 1_000;
const MOST_WORKERS = 10;

/** A text that no other job has. */
export const textOf = (job: string) => `The text of ${job}.`;

export async function createJob(world: World, name: string, accountRef: object): Promise<void> {
  await world.apply(manifest("hd", { accountRef, text: textOf(name) }, name));
}

type Load = { world: World; accounts: Accounts; size: Size; durationMs: number; random: () => number };

/** Creates endpoints and jobs in portions, and changes endpoints that exist meanwhile and after. */
export async function runLoad({ world, accounts, size, durationMs, random }: Load): Promise<void> {
  const began = performance.now();
  const [endpoints, jobs]: [string[], string[]] = [[], []];
  for (;;) {
    const elapsed = performance.now() - began;
    if (elapsed > durationMs) break;
    const share = Math.min(1, (elapsed + PORTION_MS) / (durationMs * CREATING));
    const writes: Promise<unknown>[] = [];
    for (let count = Math.min(5, endpoints.length); count > 0; count--) {
      const name = endpoints[Math.floor(random() * endpoints.length)] ?? "";
      const max = 1 + Math.floor(random() * MOST_WORKERS);
      writes.push(world.patch("GpuEndpoint", name, { spec: { workers: { max } } }));
    }
    await Promise.all(writes.splice(0));
    while (endpoints.length < share * size.endpoints) {
      const name = `endpoint-${endpoints.length}`;
      const accountRef = accounts.endpointRefs[endpoints.length % accounts.endpointRefs.length];
      writes.push(world.apply(manifest("endpoint", { accountRef, workers: { max: MOST_WORKERS } }, name)));
      endpoints.push(name);
    }
    while (jobs.length < share * size.jobs) {
      const name = `job-${jobs.length}`;
      writes.push(createJob(world, name, accounts.refs[jobs.length % accounts.refs.length] ?? {}));
      jobs.push(name);
    }
    await Promise.all(writes);
    await sleep(PORTION_MS);
  }
}
