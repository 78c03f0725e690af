import { createHash } from "node:crypto";
import { ArtifactError } from "../errors.ts";
import type { Sink } from "../types.ts";
import type { S3Bucket } from "./bucket.ts";
import { abortUpload, completeUpload, MAX_PARTS, type Part, putPart, putWhole, startUpload } from "./multipart.ts";
import { checksumOf, compositeOf, removeObject, verifyObject } from "./verify.ts";

/** At least 5 MiB by the rules of S3; 9,999 of them make 78 GiB. */
export const PART_BYTES = 8 * 1024 * 1024;
/** For cleaning up when the signal of the copy has aborted already. */
const CLEANUP_MS = 10_000;

export type UploadOptions = {
  identity: string | undefined;
  /** An upload that was interrupted. */
  resume?: { uploadID: string; parts: readonly Part[] };
  signal: AbortSignal;
};

/**
 * Sends an object in parts: one is sent while the next one fills. An object of one part is sent as a whole. Two parts are
 * in memory at most.
 */
export function createUploadSink(bucket: S3Bucket, key: string, { identity, resume, signal }: UploadOptions): Sink {
  const parts: Part[] = [...(resume?.parts ?? [])];
  let uploadID = resume?.uploadID;
  let filling = createPartBuffer(PART_BYTES);
  let spare = createPartBuffer(PART_BYTES);
  let sending: Promise<void> | undefined;
  /** The object is under its key, and not verified yet. */
  let visible = false;
  const hash = createHash("sha256");
  const bytesOf = () => parts.reduce((sum, { bytes }) => sum + bytes, 0);

  /** Waits for the part under way, then starts the one that has filled. */
  async function flush(): Promise<void> {
    await sending;
    const full = filling;
    filling = spare;
    spare = full;
    sending = bucket.call(key, signal, async () => {
      uploadID ??= await startUpload(bucket, key, identity, signal);
      const number = parts.length + 1;
      if (number > MAX_PARTS) throw new ArtifactError("TooLarge", `${key}: more than ${MAX_PARTS} parts`);
      parts.push(await putPart(bucket, { key, uploadID, number }, full.bytes(), signal));
      full.clear();
    });
    // The next `await` of the part throws it.
    sending.catch(() => undefined);
  }

  async function storeWhole() {
    const body = filling.bytes();
    const checksum = checksumOf(body);
    await putWhole(bucket, { key, identity, checksum }, body, signal);
    return { bytes: body.length, checksum, sent: { bytes: body.length, sha256: hash.digest("hex") } };
  }

  async function storeParts(upload: string) {
    const bytes = bytesOf();
    await completeUpload(bucket, { key, uploadID: upload }, parts, signal);
    uploadID = undefined;
    const sent = resume === undefined ? { bytes, sha256: hash.digest("hex") } : undefined;
    return { bytes, checksum: compositeOf(parts.map((part) => part.checksum)), sent };
  }

  return {
    stored: bytesOf,
    async write(chunk) {
      hash.update(chunk);
      for (let rest = chunk; rest.length > 0; ) {
        // Only when more bytes follow: an object of exactly one part is sent as a whole.
        if (filling.room() === 0) await flush();
        rest = filling.take(rest);
      }
    },
    async commit() {
      const whole = uploadID === undefined && sending === undefined;
      if (!whole && filling.size() > 0) await flush();
      await sending;
      const stored = uploadID === undefined ? await storeWhole() : await storeParts(uploadID);
      visible = true;
      return { uri: `s3://${bucket.name}/${key}`, ...(await verifyObject(bucket, key, stored, signal)) };
    },
    async end(keep) {
      // It failed already, or its outcome does not matter any more.
      await sending?.catch(() => undefined);
      if (keep) return;
      await cleanUp(bucket, key, { upload: uploadID, visible });
    },
  };
}

async function cleanUp(
  bucket: S3Bucket,
  key: string,
  { upload, visible }: { upload: string | undefined; visible: boolean },
): Promise<void> {
  const signal = AbortSignal.timeout(CLEANUP_MS);
  await bucket.call(key, signal, async () => {
    if (upload !== undefined) await abortUpload(bucket, key, upload, signal);
    if (visible) await removeObject(bucket, key, signal);
  });
}

const FIRST_BYTES = 64 * 1024;

/** Collects bytes up to a limit; grows as needed and is used again, so that short streams stay small. */
export function createPartBuffer(limit: number) {
  let buffer = Buffer.alloc(0);
  let size = 0;

  function grow(wanted: number): void {
    if (wanted <= buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.min(limit, Math.max(FIRST_BYTES, wanted, buffer.length * 2)));
    buffer.copy(larger, 0, 0, size);
    buffer = larger;
  }

  return {
    room: () => limit - size,
    size: () => size,
    /** Stores what fits and returns the rest. */
    take(chunk: Uint8Array): Uint8Array {
      const taken = Math.min(chunk.length, limit - size);
      grow(size + taken);
      buffer.set(chunk.subarray(0, taken), size);
      size += taken;
      return chunk.subarray(taken);
    },
    /** The stored bytes, valid until `clear`. */
    bytes: () => buffer.subarray(0, size),
    clear: () => {
      size = 0;
    },
  };
}
