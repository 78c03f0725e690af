import { createRandom } from "../../../src/simulator/random.ts";
import { hashText } from "../engine/scheduler.ts";

/**
 * etcd is restored from a snapshot that is `behindMs` old. The API server is away for `downMs`. `bump`: by how much the restored version is
 * raised (`etcdutl snapshot restore --bump-revision`); 0: it goes on from that of the snapshot. `isSecret`: the administrator does not announce it
 * where docs/how-to/recovery.md says so.
 */
export type RestoredEtcd = {
  fault: "restoreEtcd";
  behindMs: number;
  downMs: number;
  bump: number;
  isSecret?: boolean;
};

/**
 * About a twentieth of the seeds have a restore: a part of those without a fault that is about another loss. It is drawn from a sequence of its own, so that the rest of a plan does not depend on it.
 * @param purpose names the sequence
 */
export function planRestore(purpose: string, chaosMs: number): (RestoredEtcd & { at: number }) | undefined {
  const random = createRandom(hashText(`restores ${purpose}`));
  if (random.next() < 0.85) return undefined;
  const at = Math.round(random.between(20_000, chaosMs * 0.8));
  const behindMs = Math.round(random.between(5_000, 120_000));
  const downMs = random.next() < 0.3 ? 0 : Math.round(random.between(1_000, 90_000));
  return { at, fault: "restoreEtcd", behindMs, downMs, bump: random.next() < 0.3 ? 1_000_000_000 : 0 };
}

/**
 * What can go wrong beside a restore. A process that ends takes its memory with it, and the cluster has no trace of what it did after the
 * snapshot: nobody can notice that (docs/how-to/recovery.md).
 */
export const BESIDE_A_RESTORE: readonly string[] = [
  "slow",
  "cutWatches",
  "silenceWatches",
  "delayWatches",
  "compact",
  "restartApi",
  "ignoreUpdates",
];

export const NOT_WITH_A_RESTORE: readonly string[] = ["staleState", "foreignKey", "loseKey"];
