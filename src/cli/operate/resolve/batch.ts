import type { MediaBatch } from "../../../api/v1alpha1/media-batch.ts";
import { type Clock, systemClock } from "../../../base/clock.ts";
import { oneLine } from "../../../base/manifest-yaml.ts";
import { BATCH_LABEL, jobResourceOf } from "../../../controllers/batch/child.ts";
import { batchOf } from "../../../controllers/jobs/batch-owner.ts";
import type { Job } from "../../../controllers/jobs/types.ts";
import type { KubeClient } from "../../../kube/client.ts";
import { keyOf } from "../../../kube/types.ts";
import { listPatiently } from "../../account-source.ts";
import { tableOf } from "../../table.ts";
import { act, type HaltDecision } from "./act.ts";

/** Decisions that are carried out at once. */
const AT_ONCE = 8;
/** Failures that are listed. */
const SHOWN = 10;

/** The halted jobs of a batch, by index. */
export async function haltedJobsOf(kube: KubeClient, batch: MediaBatch): Promise<Job[]> {
  const { namespace, name, uid } = batch.metadata;
  const selector = { labelSelector: `${BATCH_LABEL}=${name}` };
  const jobs = await listPatiently<Job>(kube, jobResourceOf(batch), namespace, selector);
  const indexOf = ({ metadata }: Job) => batchOf(metadata)?.index ?? 0;
  return jobs
    .filter((job) => job.status?.phase === "Halted" && batchOf(job.metadata)?.uid === uid)
    .sort((a, b) => indexOf(a) - indexOf(b));
}

/**
 * Carries out the same decision for all halted jobs of a batch. Returns what happened. `timeoutMs`: how long the operator may answer for
 * none of them.
 * @throws Error when some stay Halted
 */
export async function actOnAll(
  kube: KubeClient,
  batch: MediaBatch,
  decision: HaltDecision,
  { timeoutMs, clock = systemClock }: { timeoutMs: number; clock?: Clock },
): Promise<string> {
  if (decision.kind === "Attach") {
    throw new Error("--task-id attaches one job to one task: name a job of the batch instead of the batch");
  }
  const resource = jobResourceOf(batch);
  const jobs = await haltedJobsOf(kube, batch);
  const failures: string[] = [];
  const waiting = [...jobs];
  const silence = watchSilence(clock, timeoutMs);
  const lane = async () => {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
      const name = job.metadata.name;
      const { signal } = silence;
      await act(kube, decision, { resource, job, clock, signal }).then(silence.heard, (error: unknown) => {
        failures.push(`${name}: ${oneLine(error instanceof Error ? error.message : String(error))}`);
      });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  silence.end();
  if (failures.length > 0) {
    const shown = failures.slice(0, SHOWN).join("; ");
    throw new Error(
      `${failures.length} of ${jobs.length} jobs of MediaBatch ${keyOf(batch)} were not resolved: ${shown}`,
    );
  }
  const what =
    decision.kind === "Resubmit"
      ? "released: each sends its request again, which may be paid for twice"
      : "deleted: their items failed";
  return `${jobs.length} halted ${jobs.length === 1 ? "job" : "jobs"} of MediaBatch ${keyOf(batch)} ${jobs.length === 1 ? "is" : "are"} ${what}`;
}

/** Aborts when `heard` was not called for `ms`: the more jobs, the longer all of them take. */
function watchSilence(clock: Clock, ms: number): { signal: AbortSignal; heard(): void; end(): void } {
  const ending = new AbortController();
  const start = () => clock.setTimeout(() => ending.abort(new Error("no operator has answered")), ms);
  let end = start();
  return {
    signal: ending.signal,
    heard() {
      end();
      end = start();
    },
    end: () => end(),
  };
}

/** The halted jobs of a batch, and how to decide for all of them. */
export function haltedText(batch: MediaBatch, jobs: readonly Job[]): string {
  const { name, namespace } = batch.metadata;
  if (jobs.length === 0) return `MediaBatch ${namespace}/${name} has no halted job\n`;
  const rows = jobs.map((job) => {
    const { submission } = job.status ?? {};
    return [job.metadata.name, String(submission?.attempt ?? "?"), submission?.time ?? "?"];
  });
  return [
    `${jobs.length} jobs of MediaBatch ${namespace}/${name} are Halted\n`,
    tableOf(["JOB", "ATTEMPT", "SENT"], rows, []),
    "\nFor the bills of one of them: mooring resolve JOB. To decide for all of them\n",
    `  mooring resolve mediabatch/${name} -n ${namespace} --resubmit   send each again, which may be paid for twice\n`,
    `  mooring resolve mediabatch/${name} -n ${namespace} --give-up    delete them: their items fail\n`,
  ].join("");
}
