import type { Logger } from "pino";
import { ArtifactError } from "../../artifacts/errors.ts";
import { artifactKey } from "../../artifacts/key.ts";
import type { ArtifactStoreHandle } from "../../artifacts/types.ts";
import type { Clock } from "../../clock.ts";
import { backoffDelay } from "../../runtime/backoff.ts";
import type { AccountHandle } from "../account/registry.ts";
import type { StoreRegistry } from "../artifact-store/registry.ts";
import { artifactVerdict, messageOf } from "../verdict.ts";
import { createFreshURLs, type FreshResults } from "./refresh.ts";
import type { Block, Copies, Copy, CopyEnd, Job } from "./types.ts";

/** Where results are copied from and to. */
export type CopyRoute = {
  store: ArtifactStoreHandle;
  lookup: AccountHandle["resultLookup"];
  /** Asks the task for its results again. Undefined: the results are of no task. */
  refresh: ((signal: AbortSignal) => Promise<FreshResults>) | undefined;
  clock: Clock;
};

const BACKOFF = { baseMs: 2_000, capMs: 5 * 60_000, jitter: 0.4 };

export function createCopies({ clock, random }: { clock: Clock; random: () => number }): Copies {
  const copies = new Map<string, Copy & { ending: AbortController; running: Promise<void> }>();
  const backoffs = new Map<string, { failures: number; until: number }>();
  return {
    find: (uid) => copies.get(uid),
    begin(uid, wake, run) {
      const ending = new AbortController();
      const copy: Copy = { bytes: 0, totalBytes: undefined };
      const running = run(copy, ending.signal).then((end) => {
        copy.end = end;
        wake();
      });
      copies.set(uid, Object.assign(copy, { ending, running }));
    },
    forget(uid, failed) {
      copies.delete(uid);
      if (!failed) {
        backoffs.delete(uid);
        return;
      }
      const failures = (backoffs.get(uid)?.failures ?? 0) + 1;
      backoffs.set(uid, { failures, until: clock.now() + backoffDelay(failures, { ...BACKOFF, random }) });
    },
    backoffUntil: (uid) => backoffs.get(uid)?.until,
    async stop() {
      for (const { ending } of copies.values()) ending.abort(new Error("the operator is stopping"));
      await Promise.all([...copies.values()].map(({ running }) => running));
    },
  };
}

/**
 * Copies the results that are not stored yet, one after the other. A URL that has expired, or that the source refuses, is
 * replaced by a fresh one from the task. Never rejects.
 */
export async function copyResults(job: Job, route: CopyRoute, copy: Copy, signal: AbortSignal): Promise<CopyEnd> {
  const urls = createFreshURLs(job.status?.results ?? [], route, signal);
  const { results } = urls;
  const onProgress = ({ bytes, totalBytes }: Pick<Copy, "bytes" | "totalBytes">) => {
    copy.bytes = bytes;
    copy.totalBytes = totalBytes;
  };
  for (const index of results.keys()) {
    try {
      for (let url = await urls.first(index); url !== undefined; ) {
        try {
          const key = keyOfResult(job, index, results[index]?.type);
          const usedBytes = results.reduce((sum, { artifact }) => sum + (artifact?.bytes ?? 0), 0);
          const options = { lookup: route.lookup, signal, usedBytes, onProgress };
          urls.stored(index, await route.store.copy(url, key, options));
          break;
        } catch (error) {
          url = await urls.instead(index, url, error);
        }
      }
    } catch (error) {
      return { kind: "Failed", results, exhausted: urls.exhausted(error), ...blockOf(error, index, urls.problem()) };
    }
  }
  return { kind: "Stored", results };
}

/** Every failed copy is repeated. Stalled: a user must act before it can succeed. */
function blockOf(error: unknown, index: number, problem: string | undefined): Block {
  const also = problem === undefined ? "" : `; the task cannot be asked for another URL: ${problem}`;
  const message = `result ${index} is not copied yet: ${messageOf(error)}${also}`;
  const verdict = error instanceof ArtifactError ? artifactVerdict(error) : undefined;
  if (verdict?.kind === "Stalled") return { reason: verdict.reason, message, stalled: true };
  const kind = error instanceof ArtifactError ? error.kind : undefined;
  if (kind === "SourceGone") return { reason: "ResultUnavailable", message, stalled: true };
  if (kind === "TooLarge") return { reason: "ResultTooLarge", message, stalled: true };
  return { reason: "Retrying", message, stalled: false };
}

/**
 * Removes parts of artifacts from the store: of unfinished copies, and of a stream whose process was killed. It never throws,
 * because a broken store must not block the deletion of a job.
 * @param typeOfBytes file type of the bytes in the response to the request
 * @returns whether nothing is left
 */
export async function abandonCopies(
  job: Job,
  stores: StoreRegistry,
  typeOfBytes: string | undefined,
  { signal, log }: { signal: AbortSignal; log: Logger },
): Promise<boolean> {
  const { output } = job.spec;
  if (output === undefined) return true;
  const target = stores.resolve(job.metadata.namespace, output.storeRef);
  if (target.kind !== "Usable") return false;
  const keys = (job.status?.results ?? []).flatMap(({ artifact, type }, index) =>
    artifact === undefined ? [keyOfResult(job, index, type)] : [],
  );
  if (typeOfBytes !== undefined && keys.length === 0) keys.push(keyOfResult(job, 0, typeOfBytes));
  try {
    for (const key of keys) await target.store.abandon(key, signal);
    return true;
  } catch (error) {
    log.warn({ reason: String(error) }, "an unfinished copy was not removed from the store");
    return false;
  }
}

/** The key of a result in its store. */
export function keyOfResult(job: Job, index: number, type: string | undefined): string {
  const { namespace, name, uid } = job.metadata;
  const kind = job.kind ?? "Job";
  return artifactKey({ prefix: job.spec.output?.prefix, namespace, kind, name, uid, index, type: type ?? "" });
}
