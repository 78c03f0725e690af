import type { Logger } from "pino";
import type { JobResult } from "../../api/v1alpha1/job.ts";
import type { Reason } from "../../api/v1alpha1/reasons.ts";
import { ArtifactError, type ArtifactErrorKind } from "../../artifacts/errors.ts";
import { artifactKey } from "../../artifacts/key.ts";
import type { ArtifactStoreHandle } from "../../artifacts/types.ts";
import type { Clock } from "../../clock.ts";
import { backoffDelay } from "../../runtime/backoff.ts";
import type { AccountHandle } from "../account/registry.ts";
import type { StoreRegistry } from "../artifact-store/registry.ts";
import type { Job } from "./types.ts";

/** How a copy ended; `results` carry the artifacts that are there by now. */
export type CopyEnd =
  | { kind: "Stored"; results: JobResult[] }
  /** `stalled`: a person must act; it is tried again either way. */
  | { kind: "Failed"; results: JobResult[]; reason: Reason; message: string; stalled: boolean };

export type Copy = { bytes: number; totalBytes: number | undefined; end?: CopyEnd };

/** The copies of results to stores that are under way. They run beside the reconciles and outlive any of them. */
export type Copies = {
  find(uid: string): Copy | undefined;
  /** `wake` is called when it has ended. */
  begin(uid: string, wake: () => void, run: (copy: Copy, signal: AbortSignal) => Promise<CopyEnd>): void;
  /** The end stands in the status. `failed`: the next try comes after a pause that grows. */
  forget(uid: string, failed: boolean): void;
  restingUntil(uid: string): number | undefined;
  /** Ends all; each goes on where it was after the next start. */
  stop(): Promise<void>;
};

/** What a person has to do something about; all else may pass by itself. */
const STALLED: { readonly [K in ArtifactErrorKind]?: Reason } = {
  SourceGone: "ResultUnavailable",
  TooLarge: "ResultUnavailable",
  AddressRefused: "AddressNotAllowed",
  InvalidKey: "InvalidSpec",
  Denied: "StoreDenied",
  NotFound: "StoreNotReady",
  NoSpace: "StoreFull",
};

const REST = { baseMs: 2_000, capMs: 5 * 60_000, jitter: 0.4 };

export function createCopies({ clock, random }: { clock: Clock; random: () => number }): Copies {
  const copies = new Map<string, Copy & { ending: AbortController; running: Promise<void> }>();
  const rests = new Map<string, { failures: number; until: number }>();
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
        rests.delete(uid);
        return;
      }
      const failures = (rests.get(uid)?.failures ?? 0) + 1;
      rests.set(uid, { failures, until: clock.now() + backoffDelay(failures, { ...REST, random }) });
    },
    restingUntil: (uid) => rests.get(uid)?.until,
    async stop() {
      for (const { ending } of copies.values()) ending.abort(new Error("the operator is stopping"));
      await Promise.all([...copies.values()].map(({ running }) => running));
    },
  };
}

/** Copies what is not there yet, one result after the other. Never rejects. */
export async function copyResults(
  job: Job,
  store: ArtifactStoreHandle,
  lookup: AccountHandle["resultLookup"],
  copy: Copy,
  signal: AbortSignal,
): Promise<CopyEnd> {
  const results = [...(job.status?.results ?? [])];
  for (const [index, result] of results.entries()) {
    if (result.artifact !== undefined || result.url === undefined) continue;
    try {
      const onProgress = ({ bytes, totalBytes }: Pick<Copy, "bytes" | "totalBytes">) => {
        copy.bytes = bytes;
        copy.totalBytes = totalBytes;
      };
      const artifact = await store.copy(result.url, keyOfResult(job, index, result.type), {
        lookup,
        signal,
        onProgress,
      });
      results[index] = { ...result, artifact };
    } catch (error) {
      const message = `result ${index} is not copied yet: ${error instanceof Error ? error.message : String(error)}`;
      const stalled = error instanceof ArtifactError ? STALLED[error.kind] : undefined;
      return { kind: "Failed", results, reason: stalled ?? "Retrying", message, stalled: stalled !== undefined };
    }
  }
  return { kind: "Stored", results };
}

/**
 * Removes what unfinished copies, and a stream whose process was killed, left in the store. It never throws: an object that is to
 * go must not wait for a broken store.
 * @param typeOfBytes of the bytes that the answer would have brought
 * @returns whether nothing is left
 */
export async function abandonCopies(
  job: Job,
  typeOfBytes: string | undefined,
  stores: StoreRegistry,
  signal: AbortSignal,
  log: Logger,
): Promise<boolean> {
  const { output } = job.spec;
  if (output === undefined) return true;
  const target = stores.resolve(job.metadata.namespace ?? "", output.storeRef);
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

/** Where a result of a job lies in its store. */
export function keyOfResult(job: Job, index: number, type: string | undefined): string {
  const { namespace = "", name, uid = "" } = job.metadata;
  const kind = job.kind ?? "Job";
  return artifactKey({ prefix: job.spec.output?.prefix, namespace, kind, name, uid, index, type: type ?? "" });
}
