import * as z from "zod";
import type { JobResult } from "../../api/v1alpha1/job.ts";
import { ArtifactError } from "../../artifacts/errors.ts";
import type { ArtifactStoreHandle } from "../../artifacts/types.ts";
import { rfc3339 } from "../../base/clock.ts";
import { keyOf } from "../../kube/types.ts";
import { keyOfResult } from "./result-key.ts";
import type { Job } from "./types.ts";

/** What a store has of a request whose results it has. It lies beside them, so no other store learns what was asked for. */
const recordSchema = z.object({
  from: z.string().max(1024),
  time: z.string().max(64),
  results: z
    .array(
      z.object({
        kind: z.enum(["Audio", "Video", "Image"]),
        type: z.string().max(64).optional(),
        key: z.string().max(1024),
        uri: z.string().max(4096),
        bytes: z.int().min(0),
        sha256: z.string().max(64),
      }),
    )
    .min(1)
    .max(64),
});
export type RequestRecord = z.output<typeof recordSchema>;

/** Above 64 results with the longest keys. */
const RECORD_BYTES = 512 * 1024;
export type RecordStore = Pick<ArtifactStoreHandle, "read" | "create" | "holds" | "writer">;

/** The key of the record of a request in a store. */
const recordKey = (hash: string) => `.mooring/requests/${hash}`;

/** The results of the same request, if the store still has all of them, unchanged. @throws ArtifactError */
export async function findResults(
  store: RecordStore,
  hash: string,
  signal: AbortSignal,
): Promise<RequestRecord | undefined> {
  const record = await readRecord(store, hash, signal);
  for (const result of record?.results ?? []) {
    if (!(await store.holds(result.key, result, signal))) return undefined;
  }
  return record;
}

async function readRecord(store: RecordStore, hash: string, signal: AbortSignal): Promise<RequestRecord | undefined> {
  try {
    const opened = await store.read(recordKey(hash), { start: 0, end: RECORD_BYTES }, signal);
    const chunks: Uint8Array[] = [];
    for await (const chunk of opened?.chunks ?? []) chunks.push(chunk);
    return recordSchema.safeParse(parsed(Buffer.concat(chunks).toString())).data;
  } catch (error) {
    // Without the right to list, S3 answers 403 for a key that is not there. The store was read when it was probed.
    if (error instanceof ArtifactError && (error.kind === "NotFound" || error.kind === "Denied")) return undefined;
    throw error;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // as if there were no record: the next one replaces it
  }
}

/**
 * Records that the store has the results of the request of a job. A record whose results the store has stays, every other one is
 * replaced. Idempotent. @throws ArtifactError
 */
export async function recordResults(
  store: RecordStore,
  job: Job,
  { hash, results, now }: { hash: string; results: readonly JobResult[]; now: number },
  signal: AbortSignal,
): Promise<void> {
  const stored = results.flatMap(({ kind, type, artifact }, index) => {
    const { uri, bytes, sha256 } = artifact ?? {};
    if (uri === undefined || bytes === undefined || sha256 === undefined) return [];
    return [{ kind, ...(type === undefined ? {} : { type }), key: keyOfResult(job, index, type), uri, bytes, sha256 }];
  });
  const record: RequestRecord = { from: `${job.kind} ${keyOf(job)}`, time: rfc3339(now), results: stored };
  const text = JSON.stringify(record);
  if (await store.create(recordKey(hash), text, signal)) return;
  if ((await findResults(store, hash, signal)) !== undefined) return;
  const writer = await store.writer(recordKey(hash), { signal, maxBytes: RECORD_BYTES });
  try {
    await writer.write(Buffer.from(text));
    await writer.commit();
  } catch (error) {
    await writer.discard();
    throw error;
  }
}
