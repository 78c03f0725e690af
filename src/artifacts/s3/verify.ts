import { createHash } from "node:crypto";
import { DeleteObjectCommand, GetObjectCommand, HeadObjectCommand, ListObjectsV2Command } from "@aws-sdk/client-s3";
import { ArtifactError } from "../errors.ts";
import { joinKey } from "../key.ts";
import { type Digest, digestOf } from "../types.ts";
import type { S3Bucket } from "./bucket.ts";
import { statusOf } from "./failure.ts";

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
 * Verifies that the object under a key equals what was sent: by the store's checksum, or without one, by
 * reading the object back. Deletes an object that differs.
 * @param checksum that the store should show
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
  const chunks: AsyncIterable<Uint8Array> = Body as never;
  return digestOf(Body === undefined ? emptyChunks() : chunks);
}

async function* emptyChunks(): AsyncGenerator<Uint8Array> {}

/** What lies under a key: by the checksum of the store, or read back. Undefined as for `describeObject`. */
export async function storedDigest(bucket: S3Bucket, key: string, signal: AbortSignal): Promise<Digest | undefined> {
  const head = await describeObject(bucket, key, signal);
  if (head === undefined) return undefined;
  const { ContentLength: bytes, ChecksumSHA256: told } = head;
  // That of an object in parts is a checksum of checksums.
  if (bytes === undefined || told === undefined || told.includes("-")) return readBack(bucket, key, signal);
  return { bytes, sha256: Buffer.from(told, "base64").toString("hex") };
}

/** What a store shows of an object; undefined when it does not exist, or when the credentials do not allow the read. */
export async function describeObject(bucket: S3Bucket, key: string, signal: AbortSignal) {
  try {
    return await bucket.client.send(new HeadObjectCommand({ Bucket: bucket.name, Key: key, ChecksumMode: "ENABLED" }), {
      abortSignal: signal,
    });
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
