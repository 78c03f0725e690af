import { indexesOf } from "../../../src/controllers/batch/index-set.ts";
import { batchOf } from "../../../src/controllers/jobs/batch-owner.ts";
import type { ObjectMeta } from "../../../src/kube/types.ts";
import { type Json, objectAt, textAt } from "../api-server/json.ts";
import { batchIn, maxHaltedOf } from "../scenario/manifests.ts";
import type { World } from "../scenario/world.ts";

const JOBS = /^(speechjobs|videojobs)\./;

/**
 * A batch never has more than `parallelism` jobs that were never halted, nor more than `maxHaltedIndexes` beside them, and the status shows
 * that an item ended before its job is removed. That an item is paid for once is a part of PaidOnce.
 */
export function watchBatches({ plan, storage, judge }: Pick<World, "plan" | "storage" | "judge">): void {
  const batches = plan.batches ?? [];
  if (batches.length === 0) return;
  const jobs = new Map<string, Map<string, { halted: boolean }>>();
  storage.onEvent((id, { object, type }) => {
    const metadata = objectAt(object, "metadata") as unknown as ObjectMeta;
    const of = JOBS.test(id) ? batchOf(metadata) : undefined;
    const batch = batches.find(({ name, namespace }) => name === of?.name && namespace === metadata.namespace);
    if (of === undefined || batch === undefined) return;
    const known = jobs.get(of.uid) ?? new Map<string, { halted: boolean }>();
    jobs.set(of.uid, known);
    if (type === "DELETED") {
      known.delete(metadata.name);
      const stored = storage.get("mediabatches.mooring.dev", `${batch.namespace}/${batch.name}`);
      if (!endedIn(stored).has(of.index)) {
        judge.violated("Recorded", `the job of item ${of.index} is removed, and its batch does not show that it ended`);
      }
      return;
    }
    const halted = known.get(metadata.name)?.halted === true || textAt(object["status"], "phase") === "Halted";
    known.set(metadata.name, { halted });
    const first = [...known.values()].filter((job) => !job.halted).length;
    const allowed = batch.parallelism + maxHaltedOf(batch);
    if (first > batch.parallelism || known.size > allowed) {
      const limits = `${batch.parallelism} and ${allowed} allowed`;
      judge.violated(
        "Concurrency",
        `batch ${batch.name} has ${known.size} jobs, ${first} of them never halted: ${limits}`,
      );
    }
  });
}

/** What is not yet as it should be when nothing disturbs any more. */
export function unfinishedBatches(world: Pick<World, "plan" | "cluster">): string[] {
  return (world.plan.batches ?? []).flatMap((batch) => {
    const found = batchIn(world, batch);
    const phase = textAt(found?.["status"], "phase");
    return phase === "Succeeded" || phase === "Failed"
      ? []
      : [`batch ${batch.name}: ${JSON.stringify(found?.["status"])}`];
  });
}

/** Every item of a batch that ended shows its end, and the store has the list of all of them and no parts of it. */
export function judgeBatches({
  plan,
  cluster,
  bucket,
  judge,
}: Pick<World, "plan" | "cluster" | "bucket" | "judge">): void {
  for (const batch of plan.batches ?? []) {
    const found = batchIn({ cluster }, batch);
    const ended = endedIn(found);
    const { index, succeeded } = objectAt(found, "status");
    if (ended.size() !== batch.serials.length || bucket.find(textAt(index, "uri") ?? "") === undefined) {
      judge.violated("Recorded", `batch ${batch.name} ended with ${ended.size()} of ${batch.serials.length} items`);
    }
    const parts = bucket
      .uris()
      .filter((uri) => uri.includes(`/.mooring/batches/${textAt(found?.["metadata"], "uid")}/`));
    if (parts.length > 0)
      judge.violated("Recorded", `batch ${batch.name} ended, and its store has ${parts.join(", ")}`);
    // Its jobs meet no fault that fails them: users release those that are halted.
    if (succeeded !== batch.serials.length) {
      judge.violated(
        "Recorded",
        `${String(succeeded)} of ${batch.serials.length} items of batch ${batch.name} succeeded`,
      );
    }
  }
}

function endedIn(batch: Json | undefined) {
  const status = objectAt(batch, "status");
  const [completed, failed] = ["completedIndexes", "failedIndexes"].map((field) => textAt(status, field) ?? "");
  return indexesOf({ ranges: [completed, failed].filter((ranges) => ranges !== "").join(",") });
}
