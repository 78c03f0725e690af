import { GetObjectCommand } from "@aws-sdk/client-s3";
import { ArtifactError } from "../errors.ts";
import { checkKey, joinKey } from "../key.ts";
import type { ByteRange, StoredBytes } from "../types.ts";
import { createBucket, type S3Options } from "./bucket.ts";
import { statusOf } from "./failure.ts";

/**
 * Opens a stored object for reading, with a connection of its own that `close` ends.
 * @throws ArtifactError
 * @returns undefined when the range begins after the end of the object
 */
export async function readS3Object(
  options: S3Options,
  short: string,
  range: ByteRange,
  signal: AbortSignal,
): Promise<StoredBytes | undefined> {
  const key = checkKey(joinKey(options.prefix, short));
  const bucket = createBucket(options);
  const request = new GetObjectCommand({ Bucket: bucket.name, Key: key, Range: headerOf(range) });
  try {
    const { Body, ContentLength, ContentRange } = await bucket.call(key, signal, () =>
      bucket.client.send(request, { abortSignal: signal }),
    );
    const part = partOfResponse(ContentRange, ContentLength);
    if (part === undefined || part.start !== range.start) {
      throw new ArtifactError("StoreUnreachable", `s3://${bucket.name}/${key}: the response is not the part asked for`);
    }
    const chunks: AsyncIterable<Uint8Array> = Body as never;
    return { ...part, chunks, close: async () => bucket.client.destroy() };
  } catch (error) {
    bucket.client.destroy();
    const status = statusOf(error instanceof ArtifactError ? error.cause : error);
    if (status === 416) return undefined;
    if (status === 404) throw new ArtifactError("NotFound", `s3://${bucket.name}/${key} does not exist`, error);
    throw error;
  }
}

/** The whole object is asked for without a range: an empty one has none. */
function headerOf({ start, end }: ByteRange): string | undefined {
  if (start === 0 && end === undefined) return undefined;
  return `bytes=${start}-${end === undefined ? "" : end - 1}`;
}

function partOfResponse(
  range: string | undefined,
  length: number | undefined,
): Pick<StoredBytes, "totalBytes" | "start" | "end"> | undefined {
  const [, first, last, total] = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})$/.exec(range ?? "") ?? [];
  if (first !== undefined) return { start: Number(first), end: Number(last) + 1, totalBytes: Number(total) };
  return length === undefined ? undefined : { start: 0, end: length, totalBytes: length };
}
