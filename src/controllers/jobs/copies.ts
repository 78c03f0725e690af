import type { Logger } from "pino";
import type { Clock } from "../../base/clock.ts";
import { createBackoffs } from "../../runtime/backoff.ts";
import type { StoreRegistry } from "../artifact-store/registry.ts";
import { isOfBatch } from "./batch-owner.ts";
import { copyResults, taskRefresh } from "./copy-results.ts";
import type { JobDeps } from "./deps.ts";
import type { Observed, ToCopy } from "./observations.ts";
import { keyOfResult } from "./result-key.ts";
import type { Copies, Copy, Job } from "./types.ts";

/** The longest that the copy of a deleted job goes on, ms. */
export const DELETED_COPY_MS = 10 * 60_000;
const BACKOFF = { baseMs: 2_000, capMs: 5 * 60_000, jitter: 0.4 };

export function createCopies({ clock, random }: { clock: Clock; random: () => number }): Copies {
  const copies = new Map<string, Copy & { ending: AbortController; running: Promise<void> }>();
  const cancels = new WeakMap<Copy, () => void>();
  const backoffs = createBackoffs(clock, { ...BACKOFF, random });
  return {
    find: (uid) => copies.get(uid),
    begin(uid, wake, run) {
      const ending = new AbortController();
      const copy: Copy = { bytes: 0, totalBytes: undefined, urgent: false };
      const running = run(copy, ending.signal).then((end) => {
        copy.end = end;
        cancels.get(copy)?.();
        wake();
      });
      copies.set(uid, Object.assign(copy, { ending, running }));
    },
    hurry(uid) {
      const copy = copies.get(uid);
      if (copy === undefined || copy.urgent || copy.end !== undefined) return;
      copy.urgent = true;
      const late = () => copy.ending.abort(new Error(`the job was deleted ${DELETED_COPY_MS / 60_000} minutes ago`));
      cancels.set(copy, clock.setTimeout(late, DELETED_COPY_MS));
    },
    forget(uid, failed) {
      copies.delete(uid);
      if (failed) backoffs.fail(uid);
      else backoffs.reset(uid);
    },
    backoffUntil: backoffs.until,
    abandon(uid) {
      copies.get(uid)?.ending.abort(new Error("another process serves the account of the job"));
      copies.delete(uid);
      backoffs.reset(uid);
    },
    async stop() {
      for (const { ending } of copies.values()) ending.abort(new Error("the operator is stopping"));
      await Promise.all([...copies.values()].map(({ running }) => running));
    },
  };
}

/**
 * Starts the copy of results, which runs beside the reconciles. The finalizer blocks the deletion of the job meanwhile. A job of a batch has
 * none: its deletion does not wait, and the copy goes on while this process lives.
 */
export async function startCopy<T extends Job>(
  { shared, adapter, copies, wake }: JobDeps<T>,
  job: T,
  { account, store, results, result }: Pick<Observed, "account" | "store"> & ToCopy,
  signal: AbortSignal,
): Promise<void> {
  if (store?.kind !== "Usable" || account === undefined) throw new Error("a copy needs a store and an account");
  if (!isOfBatch(job)) await adapter.kind.setFinalizer(job, true, signal);
  const source = { ...job, status: { ...job.status, conditions: [], results } };
  copies.begin(
    job.metadata.uid,
    () => wake(job),
    (copy, ending) => {
      copy.task = result;
      const refresh = taskRefresh(job, account);
      const route = { store: store.store, lookup: account.resultLookup, refresh, clock: shared.clock };
      return copyResults(source, route, copy, ending);
    },
  );
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
