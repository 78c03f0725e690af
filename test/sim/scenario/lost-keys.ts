import { createRandom } from "../../../src/simulator/random.ts";
import { hashText } from "../engine/scheduler.ts";

/** The Secret has no key, for as long as a user does not notice it. */
export type LostKey = { fault: "loseKey"; forMs: number };

/**
 * A tenth of the seeds lose the key, some of them for longer than the pause between two probes of an account. They are drawn from a
 * sequence of their own, so that the rest of a plan does not depend on them.
 * @param purpose names the sequence
 */
export function planLostKeys(purpose: string, chaosMs: number): (LostKey & { at: number })[] {
  const random = createRandom(hashText(`lost keys ${purpose}`));
  if (random.next() < 0.9) return [];
  const at = Math.round(random.between(0, chaosMs));
  return [{ at, fault: "loseKey", forMs: Math.round(random.between(1_000, chaosMs - at)) }];
}
