import { createRandom } from "../../../src/simulator/random.ts";
import { hashText } from "../engine/scheduler.ts";

/**
 * A process ends `behindMs` after an API server stopped following the others. Its next one lists and watches there for `forMs` after
 * its start.
 */
export type StaleState = { fault: "staleState"; process: number; behindMs: number; downMs: number; forMs: number };

/** Until when faults happen, and the mean time between two of these, ms. */
type Pace = { chaosMs: number; gapMs: number };

/**
 * Half of the seeds have stale states. They are drawn from a sequence of their own, so that the rest of a plan does not depend on them.
 * @param purpose names the sequence
 */
export function planStaleStates(
  purpose: string,
  objects: readonly { at: number }[],
  { chaosMs, gapMs }: Pace,
): (StaleState & { at: number })[] {
  const random = createRandom(hashText(`stale states ${purpose}`));
  const chance = (probability: number) => random.next() < probability;
  const staleState = (at: number): StaleState & { at: number } => ({
    at: Math.round(at),
    fault: "staleState",
    process: Math.floor(random.next() * 2),
    behindMs: Math.round(random.between(0, 10_000)),
    downMs: Math.round(random.between(100, 3_000)),
    forMs: Math.round(random.between(1_000, 10_000)),
  });
  if (chance(0.5)) return [];
  const faults: (StaleState & { at: number })[] = [];
  for (let at = random.between(0, gapMs); at < chaosMs; at += random.between(0, 2 * gapMs)) faults.push(staleState(at));
  // Where it hurts: while an object is submitted.
  for (const { at } of objects) if (chance(0.3)) faults.push(staleState(at + random.between(0, 2_000)));
  return faults;
}
