import type { Readable } from "node:stream";
import { GetObjectCommand } from "@aws-sdk/client-s3";
import { ArtifactError } from "../errors.ts";
import { checkKey, joinKey } from "../key.ts";
import type { ByteRange, StoredBytes, WantedPart } from "../types.ts";
import { createBucket, type S3Bucket, type S3Options } from "./bucket.ts";
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
  const bucket = createBucket(options);
  const destroy = async () => bucket.client.destroy();
  try {
    const opened = await readObject(bucket, checkKey(joinKey(options.prefix, short)), range, signal);
    if (opened === undefined) await destroy();
    return opened && { ...opened, close: destroy };
  } catch (error) {
    await destroy();
    throw error;
  }
}

/** The same with the connections of the bucket. @throws ArtifactError NotFound; SourceChanged when it is not `version` */
export async function readObject(
  bucket: S3Bucket,
  key: string,
  { version, ...range }: WantedPart,
  signal: AbortSignal,
): Promise<StoredBytes | undefined> {
  const IfMatch = version;
  const request = new GetObjectCommand({ Bucket: bucket.name, Key: key, Range: headerOf(range), IfMatch });
  try {
    const { Body, ContentLength, ContentRange, ETag } = await bucket.call(key, signal, () =>
      bucket.client.send(request, { abortSignal: signal }),
    );
    const part = partOfResponse(ContentRange, ContentLength);
    const body: Readable = Body as never;
    if (part === undefined || part.start !== range.start) {
      body.destroy();
      throw new ArtifactError("StoreUnreachable", `s3://${bucket.name}/${key}: the response is not the part asked for`);
    }
    return { ...part, version: ETag, chunks: body, close: async () => void body.destroy() };
  } catch (error) {
    const status = statusOf(error instanceof ArtifactError ? error.cause : error);
    const name = `s3://${bucket.name}/${key}`;
    if (status === 416) return undefined;
    if (status === 404) throw new ArtifactError("NotFound", `${name} does not exist`, error);
    if (status === 412) throw new ArtifactError("SourceChanged", `${name} has changed`, error);
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
