import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  ListPartsCommand,
  PutObjectCommand,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import type { S3Bucket } from "./bucket.ts";
import { statusOf } from "./failure.ts";
import { checksumOf } from "./verify.ts";

export type Part = { number: number; etag: string; checksum: string; bytes: number };

/** Metadata of an object that says what it was copied from. */
export const SOURCE_METADATA = "mooring-source";

/**
 * S3 shows only the parts of an upload in progress. So the identity of the source is a part too: the highest number
 * possible, left out when the upload is completed, and deleted with the upload. Only its checksum is used.
 */
const IDENTITY_PART = 10_000;
export const MAX_PARTS = IDENTITY_PART - 1;

export async function startUpload(
  bucket: S3Bucket,
  key: string,
  identity: string | undefined,
  signal: AbortSignal,
): Promise<string> {
  const { UploadId = "" } = await bucket.client.send(
    new CreateMultipartUploadCommand({
      Bucket: bucket.name,
      Key: key,
      ChecksumAlgorithm: "SHA256",
      ...(identity === undefined ? {} : { Metadata: { [SOURCE_METADATA]: identity } }),
    }),
    { abortSignal: signal },
  );
  if (identity !== undefined)
    await putPart(bucket, { key, uploadID: UploadId, number: IDENTITY_PART }, Buffer.from(identity), signal);
  return UploadId;
}

/** Sends one part; the store refuses it unless it has the checksum. */
export async function putPart(
  bucket: S3Bucket,
  { key, uploadID, number }: { key: string; uploadID: string; number: number },
  body: Uint8Array,
  signal: AbortSignal,
): Promise<Part> {
  const checksum = checksumOf(body);
  const { ETag = "" } = await bucket.client.send(
    new UploadPartCommand({
      Bucket: bucket.name,
      Key: key,
      UploadId: uploadID,
      PartNumber: number,
      Body: body,
      ContentLength: body.length,
      ChecksumSHA256: checksum,
    }),
    { abortSignal: signal },
  );
  return { number, etag: ETag, checksum, bytes: body.length };
}

export type OpenUpload = { uploadID: string; parts: Part[]; identityChecksum: string | undefined };

/** The uploads to exactly this key that were neither completed nor aborted, newest first. */
export async function uploadsOf(bucket: S3Bucket, key: string, signal: AbortSignal): Promise<string[]> {
  const { Uploads = [] } = await bucket.client.send(
    new ListMultipartUploadsCommand({ Bucket: bucket.name, Prefix: key }),
    { abortSignal: signal },
  );
  return Uploads.filter(({ Key }) => Key === key)
    .sort((a, b) => (b.Initiated?.getTime() ?? 0) - (a.Initiated?.getTime() ?? 0))
    .flatMap(({ UploadId }) => (UploadId === undefined ? [] : [UploadId]));
}

/** The parts of an upload from the first on without a gap; none where the store keeps no checksums of parts. */
export async function readUpload(
  bucket: S3Bucket,
  key: string,
  uploadID: string,
  signal: AbortSignal,
): Promise<OpenUpload> {
  const found = new Map<number, Part>();
  let marker: string | undefined;
  do {
    const page = await bucket.client.send(
      new ListPartsCommand({ Bucket: bucket.name, Key: key, UploadId: uploadID, PartNumberMarker: marker }),
      { abortSignal: signal },
    );
    for (const { PartNumber: number, ETag: etag, ChecksumSHA256: checksum, Size: bytes } of page.Parts ?? []) {
      if (number === undefined || etag === undefined || checksum === undefined || bytes === undefined) continue;
      found.set(number, { number, etag, checksum, bytes });
    }
    marker = page.IsTruncated === true ? page.NextPartNumberMarker : undefined;
  } while (marker !== undefined);
  const parts: Part[] = [];
  for (let part = found.get(1); part !== undefined && part.number <= MAX_PARTS; part = found.get(part.number + 1)) {
    parts.push(part);
  }
  return { uploadID, parts, identityChecksum: found.get(IDENTITY_PART)?.checksum };
}

/** Aborts an upload; ignores one that does not exist any more. */
export async function abortUpload(bucket: S3Bucket, key: string, uploadID: string, signal: AbortSignal): Promise<void> {
  try {
    await bucket.client.send(new AbortMultipartUploadCommand({ Bucket: bucket.name, Key: key, UploadId: uploadID }), {
      abortSignal: signal,
    });
  } catch (error) {
    if (statusOf(error) !== 404) throw error;
  }
}

export async function completeUpload(
  bucket: S3Bucket,
  { key, uploadID }: { key: string; uploadID: string },
  parts: readonly Part[],
  signal: AbortSignal,
): Promise<void> {
  const uploaded = parts.map(({ number, etag, checksum }) => ({
    PartNumber: number,
    ETag: etag,
    ChecksumSHA256: checksum,
  }));
  const command = { Bucket: bucket.name, Key: key, UploadId: uploadID, MultipartUpload: { Parts: uploaded } };
  await bucket.call(key, signal, () =>
    bucket.client.send(new CompleteMultipartUploadCommand(command), { abortSignal: signal }),
  );
}

/** An object in one request. */
export async function putWhole(
  bucket: S3Bucket,
  { key, identity, checksum }: { key: string; identity: string | undefined; checksum: string },
  body: Uint8Array,
  signal: AbortSignal,
): Promise<void> {
  const sent = { Body: body, ContentLength: body.length, ChecksumSHA256: checksum };
  const metadata = identity === undefined ? {} : { Metadata: { [SOURCE_METADATA]: identity } };
  const command = { Bucket: bucket.name, Key: key, ...sent, ...metadata };
  await bucket.call(key, signal, () => bucket.client.send(new PutObjectCommand(command), { abortSignal: signal }));
}

/** A small object, unless the key has one. @returns whether it was stored */
export async function putNew(bucket: S3Bucket, key: string, text: string, signal: AbortSignal): Promise<boolean> {
  const Body = Buffer.from(text);
  const object = { Bucket: bucket.name, Key: key, Body, ContentLength: Body.length, ChecksumSHA256: checksumOf(Body) };
  const put = (IfNoneMatch: string | undefined) =>
    bucket.client.send(new PutObjectCommand({ ...object, IfNoneMatch }), { abortSignal: signal });
  try {
    await put("*");
    return true;
  } catch (error) {
    if (statusOf(error) === 412) return false;
    // A service without conditional writes.
    if (statusOf(error) !== 501) throw error;
    await put(undefined);
    return true;
  }
}
