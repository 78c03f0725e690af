import { randomUUID } from "node:crypto";
import { checkKey, joinKey } from "../key.ts";
import type { Backend } from "../types.ts";
import { createBucket, type S3Options } from "./bucket.ts";
import { linkOf } from "./link.ts";
import { abortUpload, putNew, readUpload, SOURCE_METADATA, uploadsOf } from "./multipart.ts";
import { readObject } from "./read-object.ts";
import { createUploadSink, PART_BYTES } from "./upload-sink.ts";
import { bytesUnder, checksumOf, describeObject, readBack, removeObject, storedDigest } from "./verify.ts";

/** A bucket. What is not complete is a multipart upload, which no reader of the bucket sees. */
export function createS3Backend(options: S3Options): Backend {
  const bucket = createBucket(options);
  const full = (key: string) => checkKey(joinKey(options.prefix, key));

  async function clear(key: string, signal: AbortSignal, except?: string): Promise<void> {
    for (const uploadID of await uploadsOf(bucket, key, signal)) {
      if (uploadID !== except) await abortUpload(bucket, key, uploadID, signal);
    }
  }

  return {
    checkKey: (key) => void full(key),
    bufferBytes: 2 * PART_BYTES,
    leftover(short, signal) {
      const key = full(short);
      return bucket.call(key, signal, async () => {
        const [uploadID] = await uploadsOf(bucket, key, signal);
        if (uploadID === undefined) return undefined;
        const { parts, identityChecksum } = await readUpload(bucket, key, uploadID, signal);
        if (parts.length === 0 || identityChecksum === undefined) return undefined;
        return {
          bytes: parts.reduce((sum, { bytes }) => sum + bytes, 0),
          matches: (identity) => checksumOf(Buffer.from(identity)) === identityChecksum,
          resume: (resumed) =>
            bucket.call(key, resumed, async () => {
              await clear(key, resumed, uploadID);
              // The identity is in the upload already.
              return createUploadSink(bucket, key, {
                identity: undefined,
                resume: { uploadID, parts },
                signal: resumed,
              });
            }),
        };
      });
    },
    open(short, identity, signal) {
      const key = full(short);
      return bucket.call(key, signal, async () => {
        await clear(key, signal);
        return createUploadSink(bucket, key, { identity, signal });
      });
    },
    existing(short, identity, bytes, signal) {
      const key = full(short);
      return bucket.call(key, signal, async () => {
        const head = await describeObject(bucket, key, signal);
        if (head?.Metadata?.[SOURCE_METADATA] !== identity || head.ContentLength !== bytes) return undefined;
        const found = await readBack(bucket, key, signal);
        return found.bytes === bytes ? { uri: `s3://${bucket.name}/${key}`, ...found } : undefined;
      });
    },
    read: (short, wanted, signal) => readObject(bucket, full(short), wanted, signal),
    link: (short, signal) => linkOf(bucket, full(short), signal),
    create(short, text, signal) {
      const key = full(short);
      return bucket.call(key, signal, () => putNew(bucket, key, text, signal));
    },
    digest(short, signal) {
      const key = full(short);
      return bucket.call(key, signal, () => storedDigest(bucket, key, signal));
    },
    remove(short, signal) {
      const key = full(short);
      return bucket.call(key, signal, () => removeObject(bucket, key, signal));
    },
    clear(short, signal) {
      const key = full(short);
      return bucket.call(key, signal, () => clear(key, signal));
    },
    async probe(signal) {
      const key = full(`.mooring-probe-${randomUUID()}`);
      const sink = createUploadSink(bucket, key, { identity: undefined, signal });
      await sink.write(Buffer.from(randomUUID()));
      await sink.commit();
      await bucket.call(key, signal, async () => {
        await readBack(bucket, key, signal);
        await removeObject(bucket, key, signal);
        await uploadsOf(bucket, key, signal);
      });
    },
    usage(limit, signal) {
      return bucket.call(options.prefix ?? "", signal, () => bytesUnder(bucket, options.prefix, limit, signal));
    },
    dispose: async () => bucket.client.destroy(),
  };
}
