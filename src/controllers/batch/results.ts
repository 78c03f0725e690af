import { getCondition } from "../../api/v1alpha1/conditions.ts";
import type { MediaBatch } from "../../api/v1alpha1/media-batch.ts";
import { ArtifactError } from "../../artifacts/errors.ts";
import { joinKey } from "../../artifacts/key.ts";
import type { ArtifactStoreHandle, StoredArtifact, WriterOptions } from "../../artifacts/types.ts";
import { keyOfResult } from "../jobs/result-key.ts";
import type { Job } from "../jobs/types.ts";
import { resultName } from "./child.ts";
import { recordsOf, START } from "./records.ts";

type Store = Pick<ArtifactStoreHandle, "read" | "writer" | "remove">;
/** A line of index.jsonl: of one item that ended. */
export type ResultLine = { index: number; json: string };

/** A part that is larger is complete. */
const PART_BYTES = 256 * 1024;
/** Lines that are sorted in memory at a time. */
const SORTED_LINES = 10_000;

/** The line of an item whose job ended; without a job, it was deleted. */
export function resultLine(index: number, job: Job | undefined): ResultLine {
  const { status, spec } = job ?? {};
  const name = spec?.output?.name ?? resultName({ index, name: undefined });
  const failure = getCondition(status?.conditions, "Failed");
  const error = job === undefined ? "the job was deleted" : failure?.status === "True" ? failure.message : undefined;
  const { unit, quantity } = status?.consumption ?? {};
  const results = status?.results ?? [];
  const stored = results.flatMap(({ artifact, type }, at) =>
    artifact === undefined || job === undefined ? [] : [status?.reused?.keys[at] ?? keyOfResult(job, at, type)],
  );
  const line = {
    index,
    name,
    key: stored[0],
    moreKeys: stored.length > 1 ? stored.slice(1) : undefined,
    duration: status?.duration,
    characters: unit === "Characters" ? quantity : undefined,
    seconds: unit === "Seconds" ? quantity : undefined,
    sha256: results[0]?.artifact?.sha256,
    cost: status?.reused === undefined ? status?.estimatedCost : "0",
    reusedFrom: status?.reused?.from,
    error,
  };
  return { index, json: JSON.stringify(line) };
}

/** The lines of a batch in its store, until index.jsonl has them. In memory: one part. */
export type ResultLog = {
  /**
   * Stores lines before the status shows that their items ended. A line of the same index is replaced.
   * @param isRecorded whether the status of the batch shows that an item ended; a line of another one is left from a status that was not
   * written
   * @returns how many parts are complete then: `status.parts`
   * @throws ArtifactError
   */
  add(
    store: Store,
    ended: { batch: MediaBatch; lines: readonly ResultLine[]; isRecorded: (index: number) => boolean },
    signal: AbortSignal,
  ): Promise<number>;
};

export function createResultLog(): ResultLog {
  let open: { part: number; lines: Map<number, string> } | undefined;

  return {
    async add(store, { batch, lines, isRecorded }, signal) {
      const part = batch.status?.parts ?? 0;
      if (lines.length === 0) return part;
      if (open?.part !== part) {
        const known = new Map<number, string>();
        for await (const line of linesOfPart(store, batch, part, signal)) {
          if (isRecorded(line.index)) known.set(line.index, line.json);
        }
        open = { part, lines: known };
      }
      for (const { index, json } of lines) open.lines.set(index, json);
      const text = [...open.lines.values()].join("\n");
      await write(store, partKey(batch, part), [`${text}\n`], { signal, maxBytes: Buffer.byteLength(text) + 1 });
      if (text.length < PART_BYTES) return part;
      open = { part: part + 1, lines: new Map() };
      return part + 1;
    },
  };
}

/**
 * Writes index.jsonl, sorted by index. Reads the parts once for 10,000 items.
 * @throws ArtifactError
 */
export function writeIndex(
  store: Store,
  batch: MediaBatch,
  isRecorded: (index: number) => boolean,
  signal: AbortSignal,
): Promise<StoredArtifact> {
  const { total = 0, parts = 0 } = batch.status ?? {};

  async function* text(): AsyncGenerator<string> {
    for (let first = 0; first < total; first += SORTED_LINES) {
      const lines: string[] = [];
      for (let part = 0; part <= parts; part++) {
        for await (const { index, json } of linesOfPart(store, batch, part, signal)) {
          if (index >= first && index < first + SORTED_LINES && isRecorded(index)) lines[index - first] = json;
        }
      }
      const found = lines.filter((line) => line !== undefined);
      if (found.length > 0) yield `${found.join("\n")}\n`;
    }
  }
  return write(store, joinKey(batch.spec.output.keyPrefix, "index.jsonl"), text(), { signal });
}

/** Removes the parts: index.jsonl has their lines, or the batch is deleted. @throws ArtifactError */
export async function removeParts(store: Store, batch: MediaBatch, signal: AbortSignal): Promise<void> {
  const { parts = 0 } = batch.status ?? {};
  for (let part = 0; part <= parts; part++) await store.remove(partKey(batch, part), signal);
}

function partKey({ metadata: { uid } }: MediaBatch, part: number): string {
  return `.mooring/batches/${uid}/${part}.jsonl`;
}

/** Nothing, when there is no such part. */
async function* linesOfPart(
  store: Store,
  batch: MediaBatch,
  part: number,
  signal: AbortSignal,
): AsyncGenerator<ResultLine> {
  const opened = await store
    .read(partKey(batch, part), { start: 0, end: undefined }, signal)
    .catch((error: unknown) => {
      // Without the right to list, S3 answers 403 for a key that is not there.
      if (error instanceof ArtifactError && (error.kind === "NotFound" || error.kind === "Denied")) return undefined;
      throw error;
    });
  if (opened === undefined) return;
  try {
    for await (const { text } of recordsOf(opened.chunks, START, false)) {
      const index = indexOf(text);
      if (index !== undefined) yield { index, json: text };
    }
  } finally {
    await opened.close();
  }
}

function indexOf(text: string): number | undefined {
  const [, index] = /^\{"index":(\d{1,6}),/.exec(text) ?? [];
  return index === undefined ? undefined : Number(index);
}

async function write(
  store: Store,
  key: string,
  parts: AsyncIterable<string> | Iterable<string>,
  options: WriterOptions,
): Promise<StoredArtifact> {
  const writer = await store.writer(key, options);
  try {
    for await (const part of parts) await writer.write(Buffer.from(part));
    return await writer.commit();
  } catch (error) {
    await writer.discard();
    throw error;
  }
}
