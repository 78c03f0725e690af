import { createHash, randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { COMMANDS } from "../../../api/v1alpha1/commands.ts";
import { isTrue } from "../../../api/v1alpha1/conditions.ts";
import type { JobResult } from "../../../api/v1alpha1/job.ts";
import { API_VERSION } from "../../../api/v1alpha1/meta.ts";
import type { Clock } from "../../../base/clock.ts";
import { oneLine } from "../../../base/manifest-yaml.ts";
import type { Job, JobSpec } from "../../../controllers/jobs/types.ts";
import { durationText, progressOf } from "../../../describe/facts.ts";
import { objectState } from "../../../describe/object-state.ts";
import type { KubeClient } from "../../../kube/client.ts";
import { isAlreadyExists } from "../../../kube/errors.ts";
import type { Resource } from "../../../kube/resource.ts";
import type { KubeObject } from "../../../kube/types.ts";
import { errorText } from "../../error-text.ts";
import { waitFor } from "../../wait.ts";
import { download } from "./download.ts";
import type { ProgressLine } from "./progress.ts";

export type OneShot = {
  resource: Resource;
  namespace: string;
  spec: Partial<JobSpec> & Record<string, unknown>;
  /** Name of the object; undefined: made of the spec, so that the same command finds the same object. */
  name: string | undefined;
  /** Another object, although one of the same spec exists. */
  again: boolean;
  /** How long the object stays: for a day after its end, until somebody deletes it, or until the file is written. */
  keep: "Day" | "Always" | "UntilWritten";
  file: string;
  overwrite: boolean;
};

export type OneShotDeps = {
  kube: KubeClient;
  clock: Clock;
  progress: ProgressLine;
  /** Prints a line for the user. */
  say: (line: string) => void;
  /** Ends the wait; the job continues. */
  signal: AbortSignal;
};

/** How a one-shot job ended. `Interrupted`: the signal was aborted. */
export type OneShotEnd = { kind: "Written" | "Failed" | "Halted" | "Interrupted"; message: string };

/** After this time without a reconcile, the user is told that no operator may run. */
const NO_OPERATOR_MS = 15_000;
/** Nothing is paid a second time for a command that is repeated within this time. */
const KEPT_SECONDS = 86_400;

/**
 * Creates a job, waits for its result and downloads it.
 *
 * A command that is repeated pays once: the name of the object is made of its spec, and an existing object is used. The object
 * stays for a day after its end by default. A file that exists is not replaced.
 */
export async function runOneShot(deps: OneShotDeps, shot: OneShot): Promise<OneShotEnd> {
  const { kube, clock, progress, say, signal } = deps;
  const { resource, namespace, file } = shot;
  if (!shot.overwrite && (await exists(file))) {
    throw new Error(`${file} exists, so nothing is sent: name another file, or overwrite it with --force`);
  }
  await access(dirname(resolve(file)), constants.W_OK).catch((error: NodeJS.ErrnoException) => {
    const why = error.code === "ENOENT" ? "the folder does not exist" : `the folder cannot be written (${error.code})`;
    throw new Error(`-o ${file}: ${why}, so nothing is sent: name a file in a folder that you may write`);
  });
  const name = shot.name ?? nameOf(shot);
  const place = { namespace, name };
  const object = `${resource.kind} ${namespace}/${name}`;
  const created = await create(kube, shot, name);
  say(created ? `${object} created` : `${object} exists: its result is used, and nothing is paid again`);

  const began = clock.monotonic();
  let warned = false;
  const result = (job: Job): OneShotEnd | JobResult | undefined => {
    const { state, reason, message } = objectState(job);
    const { phase, progressPercent, results = [] } = job.status ?? {};
    const [first] = results;
    if (phase === "Succeeded" && first !== undefined) return first;
    if (phase === "Failed" || (phase === "Succeeded" && first === undefined)) {
      return { kind: "Failed", message: `${object} failed (${reason}): ${oneLine(message)}` };
    }
    if (phase === "Halted") {
      const next = COMMANDS.resolve({ kind: resource.kind, namespace, name });
      return { kind: "Halted", message: `${object} is Halted: it may have been charged. Decide with: ${next}` };
    }
    progress.show(`${state}${reason === state ? "" : ` (${reason})`} ${timesOf(job, clock.now())}`, progressPercent);
    if (!warned && job.status?.observedGeneration === undefined && clock.monotonic() - began > NO_OPERATOR_MS) {
      warned = true;
      progress.clear();
      say("no operator has reconciled the object yet: check with mooring doctor");
    }
    if (isTrue(job.status?.conditions, "Stalled") && !warned) {
      warned = true;
      progress.clear();
      say(`${object} waits for you (${reason}): ${oneLine(message)}`);
    }
    return undefined;
  };
  try {
    const found = await waitFor<Job, OneShotEnd | JobResult>(kube, { resource, place, result, signal, clock });
    if (found === undefined) return interrupted(object, shot, name);
    if ("message" in found) return found;
    const onBytes = (done: number, total: number | undefined) =>
      progress.show(`Download ${file}`, total === undefined ? undefined : (100 * done) / total);
    const bytes = await download(found, { file, clock, signal, onBytes }).catch((error: unknown) => {
      // The error names a copy.
      if (signal.aborted || found.artifact !== undefined) throw error;
      const again = "the result is paid: run the same command again to fetch it, which pays nothing";
      throw new Error(`${errorText(error)}: ${again}`, { cause: error });
    });
    if (shot.keep === "UntilWritten") await kube.delete(resource, place);
    return { kind: "Written", message: `${file} written (${bytes} bytes)` };
  } catch (error) {
    if (signal.aborted) return interrupted(object, shot, name);
    throw error;
  } finally {
    progress.clear();
  }
}

/** How long the job has taken, and what the service still expects to need. */
function timesOf(job: Job, now: number): string {
  const { elapsedSeconds = 0, leftSeconds } = progressOf(job, now);
  const left = leftSeconds === undefined ? "" : `, about ${durationText(leftSeconds)} left`;
  return `${durationText(elapsedSeconds)}${left}`;
}

function interrupted(object: string, { resource, namespace }: OneShot, name: string): OneShotEnd {
  const drop = `kubectl delete ${resource.kind.toLowerCase()} -n ${namespace} ${name}`;
  const message = `${object} continues and is charged. To get its result, run the same command again. To drop it: ${drop}`;
  return { kind: "Interrupted", message };
}

/** Returns whether the object is new. */
async function create(kube: KubeClient, { resource, namespace, spec, keep }: OneShot, name: string): Promise<boolean> {
  const body: KubeObject = {
    apiVersion: API_VERSION,
    kind: resource.kind,
    metadata: { name, namespace },
    spec: keep === "Always" ? spec : { ...spec, ttlSecondsAfterFinished: KEPT_SECONDS },
  };
  try {
    await kube.create(resource, { namespace }, body);
    return true;
  } catch (error) {
    if (isAlreadyExists(error)) return false;
    throw error;
  }
}

/** The same spec has the same name. */
function nameOf({ resource, spec, again }: OneShot): string {
  const hash = createHash("sha256").update(JSON.stringify(spec)).digest("hex").slice(0, 12);
  return `cli-${resource.kind.toLowerCase()}-${hash}${again ? `-${randomBytes(3).toString("hex")}` : ""}`;
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
