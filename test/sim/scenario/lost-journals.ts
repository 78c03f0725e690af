import { createRandom } from "../../../src/simulator/random.ts";
import { JOURNAL_SHARDS } from "../../../src/submission/journal-shards.ts";
import { hashText } from "../engine/scheduler.ts";

/**
 * Shards of the journal are deleted. With `restoredMs`, each is created again with the content that it had so long before, as from
 * a backup.
 */
export type LostJournal = { fault: "loseJournal"; shard: number | "All"; restoredMs?: number };

const OLD_BACKUPS = 0.3;

/**
 * A third of the seeds lose shards of the journal: one of them, or all. They are drawn from a sequence of their own, so that the
 * rest of a plan does not depend on them.
 * @param purpose names the sequence
 */
export function planLostJournals(
  purpose: string,
  objects: readonly { at: number }[],
  chaosMs: number,
): (LostJournal & { at: number })[] {
  const random = createRandom(hashText(`lost journals ${purpose}`));
  const chance = (probability: number) => random.next() < probability;
  const backups = createRandom(hashText(`backups ${purpose}`));
  /** Most backups are some seconds old, others as old as the time allows. */
  const olderMs = (at: number) =>
    backups.next() < OLD_BACKUPS ? Math.round(backups.between(0, Math.max(0, chaosMs - 3_000 - at))) : 0;
  const lostJournal = (at: number): LostJournal & { at: number } => ({
    at: Math.round(at),
    fault: "loseJournal",
    shard: chance(0.5) ? "All" : Math.floor(random.next() * JOURNAL_SHARDS),
    ...(chance(0.3) ? { restoredMs: Math.round(random.between(0, 3_000)) + olderMs(at) } : {}),
  });
  if (chance(0.67)) return [];
  // While objects are submitted, and at any other time.
  const faults = objects.flatMap(({ at }) => (chance(0.4) ? [lostJournal(at + random.between(0, 4_000))] : []));
  return [...faults, lostJournal(random.between(0, chaosMs))].filter(({ at }) => at < chaosMs);
}
