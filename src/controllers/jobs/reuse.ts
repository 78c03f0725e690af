import { ArtifactError } from "../../artifacts/errors.ts";
import type { ArtifactStoreHandle } from "../../artifacts/types.ts";
import type { AccountHandle } from "../account/registry.ts";
import { longHashOf } from "../hash.ts";
import { artifactVerdict, messageOf } from "../verdict.ts";
import type { Observation, ObserveContext, Observed } from "./observations.ts";
import { findResults, type RecordStore, type RequestRecord } from "./request-records.ts";
import type { Job, PaidRequest } from "./types.ts";

/** Re-check interval while the store does not answer, and while another job makes the same results. */
const AGAIN_MS = 30_000;

/** Whether a job reuses results: as its spec says, else its store, else its account. */
function reuses(job: Job, account: Pick<AccountHandle, "reuse">, store: Pick<ArtifactStoreHandle, "reuse">): boolean {
  const { reuse } = job.spec;
  return reuse === undefined ? (store.reuse() ?? account.reuse) : reuse === "SameRequest";
}

/**
 * Hash of a request whose results are reused: the same for the same operation of the same service with the same parameters. Undefined:
 * the results are not reused.
 */
export function reuseKeyOf(
  job: Job,
  { operation, body }: Pick<PaidRequest, "operation" | "body">,
  account: Pick<AccountHandle, "reuse" | "addressOf">,
  store: Pick<ArtifactStoreHandle, "reuse"> | undefined,
): string | undefined {
  if (store === undefined || !reuses(job, account, store)) return undefined;
  return longHashOf([operation, account.addressOf(operation), body]);
}

/**
 * What the store already has of the request of a job that reuses results. `hash`: of the request. Undefined: nothing, so the job sends it,
 * and no other job of the store does meanwhile.
 */
export async function observeReuse<T extends Job>(
  { deps, job, signal }: ObserveContext<T>,
  store: RecordStore,
  hash: string,
): Promise<Observed | undefined> {
  const holder = deps.claims.claim(hash, job);
  if (holder !== undefined) {
    const message = `The job waits for ${job.kind} ${holder}, which has sent the same request`;
    return waits({ reason: "Reusing", message, reuseKey: hash });
  }
  try {
    const found = await findResults(store, hash, signal);
    if (found === undefined) return undefined;
    return { observation: reused(hash, found) };
  } catch (error) {
    if (!(error instanceof ArtifactError) || error.kind === "Aborted") throw error;
    const { kind } = artifactVerdict(error);
    const message = `the store does not show whether it has the results already: ${messageOf(error)}`;
    return waits({ reason: "StoreNotReady", message, stalled: kind === "Stalled" });
  }
}

function waits(block: Omit<Observation<"Blocked">, "kind" | "stalled"> & { stalled?: boolean }): Observed {
  return { observation: { kind: "Blocked", stalled: false, againMs: AGAIN_MS, ...block } };
}

function reused(reuseKey: string, { from, time, results }: RequestRecord): Observation<"Reused"> {
  return {
    kind: "Reused",
    reuseKey,
    reused: { from, time, keys: results.map(({ key }) => key) },
    results: results.map(({ kind, type, uri, bytes, sha256 }) => ({ kind, type, artifact: { uri, bytes, sha256 } })),
  };
}
