import { createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import type { JobResult } from "../../../api/v1alpha1/job.ts";
import { openSource } from "../../../artifacts/source.ts";
import { anyAddress } from "../../../base/address-guard.ts";
import type { Clock } from "../../../base/clock.ts";
import { oneLine } from "../../../base/manifest-yaml.ts";
import { clusterAddressHint } from "./cluster-address.ts";

/** Longest silence of the server of a result. */
const IDLE_MS = 60_000;
/** The largest file, as a guard against a stream without an end. */
const MAX_BYTES = 20 * 2 ** 30;

/** Characters of an address in an error. */
const LONGEST_ADDRESS = 200;

export type DownloadOptions = {
  file: string;
  clock: Clock;
  signal: AbortSignal;
  onBytes?: (bytes: number, total: number | undefined) => void;
};

/**
 * Writes a result of a job to a file. The file appears when it is complete.
 * @throws Error of one line that names what can be done
 */
export async function download(result: JobResult, { file, clock, signal, onBytes }: DownloadOptions): Promise<number> {
  const { url, address, artifact } = result;
  const copy = artifact === undefined ? "" : `; a copy is at ${artifact.uri}`;
  const instead = address === undefined ? "" : `, only the address ${oneLine(address).slice(0, LONGEST_ADDRESS)}`;
  if (url === undefined) throw new Error(`the job shows no URL of its result${instead}${copy}`);
  const limits = { maxBytes: MAX_BYTES, idleMs: IDLE_MS };
  const source = await openSource(url, { lookup: anyAddress, limits, signal, clock }).catch((error: unknown) => {
    if (!(error instanceof Error)) throw error;
    const hint = clusterAddressHint(url, file);
    throw new Error(`${error.message}${hint === undefined ? "" : `: ${hint}`}${copy}`, { cause: error });
  });
  const part = `${file}.part`;
  let bytes = 0;
  async function* counted() {
    for await (const chunk of source.chunks) {
      bytes += chunk.byteLength;
      onBytes?.(bytes, source.totalBytes);
      yield chunk;
    }
  }
  try {
    await pipeline(counted, createWriteStream(part), { signal });
    await rename(part, file);
    return bytes;
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  } finally {
    await source.close();
  }
}
