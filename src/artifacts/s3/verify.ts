import { createHash } from "node:crypto";
import { DeleteObjectCommand, GetObjectCommand, HeadObjectCommand, ListObjectsV2Command } from "@aws-sdk/client-s3";
import { ArtifactError } from "../errors.ts";
import { joinKey } from "../key.ts";
import type { S3Bucket } from "./bucket.ts";
import { statusOf } from "./failure.ts";

export type Digest = { bytes: number; sha256: string };

/** SHA-256 in base64, as S3 writes checksums. */
export function checksumOf(...parts: readonly Uint8Array[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("base64");
}

/** What S3 calls the checksum of an object in parts: of the parts' checksums, and how many there are. */
export function compositeOf(checksums: readonly string[]): string {
  return `${checksumOf(...checksums.map((one) => Buffer.from(one, "base64")))}-${checksums.length}`;
}

/**
 * Makes sure that the object under a key is what was sent: by the checksum the store computed, or where it keeps none, by
 * reading the object back. What differs is removed.
 * @param checksum as the store should tell it
 * @param sent undefined when only the store has all the bytes (a copy that was taken up): then they are read back
 */
export async function verifyObject(
  bucket: S3Bucket,
  key: string,
  expected: { bytes: number; checksum: string; sent: Digest | undefined },
  signal: AbortSignal,
): Promise<Digest> {
  return bucket.call(key, signal, async () => {
    const head = await bucket.client.send(
      new HeadObjectCommand({ Bucket: bucket.name, Key: key, ChecksumMode: "ENABLED" }),
      { abortSignal: signal },
    );
    const told = head.ChecksumSHA256;
    const wrong = head.ContentLength !== expected.bytes || (told !== undefined && told !== expected.checksum);
    if (!wrong && told !== undefined && expected.sent !== undefined) return expected.sent;
    const found = wrong ? undefined : await readBack(bucket, key, signal);
    const good =
      found?.bytes === expected.bytes && (expected.sent === undefined || found.sha256 === expected.sent.sha256);
    if (good && found !== undefined) return found;
    await removeObject(bucket, key, signal);
    throw new ArtifactError(
      "Corrupt",
      `s3://${bucket.name}/${key}: the store has something else than was sent: removed`,
    );
  });
}

/** Reads a whole object without keeping it. */
export async function readBack(bucket: S3Bucket, key: string, signal: AbortSignal): Promise<Digest> {
  const { Body } = await bucket.client.send(new GetObjectCommand({ Bucket: bucket.name, Key: key }), {
    abortSignal: signal,
  });
  const hash = createHash("sha256");
  let bytes = 0;
  if (Body !== undefined) {
    const chunks: AsyncIterable<Uint8Array> = Body as never;
    for await (const chunk of chunks) {
      hash.update(chunk);
      bytes += chunk.length;
    }
  }
  return { bytes, sha256: hash.digest("hex") };
}

/** What a store tells of an object; undefined when there is none, or when it may not be asked. */
export async function describeObject(bucket: S3Bucket, key: string, signal: AbortSignal) {
  try {
    return await bucket.client.send(new HeadObjectCommand({ Bucket: bucket.name, Key: key }), { abortSignal: signal });
  } catch (error) {
    const status = statusOf(error);
    // Without the right to list, S3 answers 403 for a key that is not there.
    if (status === 404 || status === 403) return undefined;
    throw error;
  }
}

/** Bytes of all objects under a prefix; counts no further than `limit`. Needs s3:ListBucket. */
export async function bytesUnder(
  bucket: S3Bucket,
  prefix: string | undefined,
  limit: number,
  signal: AbortSignal,
): Promise<number> {
  const folder = prefix === undefined ? undefined : `${joinKey(prefix, "")}/`;
  let bytes = 0;
  let token: string | undefined;
  do {
    const page = await bucket.client.send(
      new ListObjectsV2Command({ Bucket: bucket.name, Prefix: folder, ContinuationToken: token }),
      { abortSignal: signal },
    );
    for (const { Size = 0 } of page.Contents ?? []) bytes += Size;
    token = page.IsTruncated === true ? page.NextContinuationToken : undefined;
  } while (token !== undefined && bytes < limit);
  return bytes;
}

export async function removeObject(bucket: S3Bucket, key: string, signal: AbortSignal): Promise<void> {
  await bucket.client.send(new DeleteObjectCommand({ Bucket: bucket.name, Key: key }), { abortSignal: signal });
}
