import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import type { LookupFunction } from "node:net";
import { S3Client } from "@aws-sdk/client-s3";
import { judgeLiteral } from "../../base/guarded-connect.ts";
import { s3Failure } from "./failure.ts";

export type S3Credentials = { accessKeyId: string; secretAccessKey: string; sessionToken?: string };

export type S3Options = {
  endpoint?: string | undefined;
  region: string;
  bucket: string;
  prefix?: string | undefined;
  forcePathStyle: boolean;
  /** Undefined: the process's own identity. */
  credentials: S3Credentials | undefined;
  /** Judges the addresses of the service; undefined allows all. */
  lookup: LookupFunction | undefined;
};

/** A bucket and how to reach it. */
export type S3Bucket = {
  name: string;
  client: S3Client;
  /** Runs a call; what fails is an `ArtifactError` that names bucket and key. */
  call<T>(key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T>;
};

const CONNECT_MS = 10_000;
const IDLE_MS = 60_000;
const ATTEMPTS = 4;

export function createBucket(options: S3Options): S3Bucket {
  const { bucket: name, endpoint, lookup, credentials } = options;
  const agent = { keepAlive: true, maxSockets: 32, ...(lookup === undefined ? {} : { lookup }) };
  const client = new S3Client({
    region: options.region,
    forcePathStyle: options.forcePathStyle,
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(credentials === undefined ? {} : { credentials }),
    maxAttempts: ATTEMPTS,
    // Mooring sends a SHA-256 with each body; the SDK's CRC would read it a second time.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    requestHandler: {
      connectionTimeout: CONNECT_MS,
      socketTimeout: IDLE_MS,
      httpAgent: new HttpAgent(agent),
      httpsAgent: new HttpsAgent(agent),
    },
  });
  const allowed =
    endpoint === undefined || lookup === undefined ? undefined : judged(lookup, new URL(endpoint).hostname);
  // Each call throws it; nobody may be waiting yet.
  allowed?.catch(() => undefined);
  return {
    name,
    client,
    async call(key, signal, work) {
      try {
        await allowed;
        return await work();
      } catch (error) {
        throw s3Failure(error, `s3://${name}/${key}`, signal);
      }
    },
  };
}

function judged(lookup: LookupFunction, hostname: string): Promise<void> {
  return new Promise((resolve, reject) => {
    judgeLiteral(lookup, hostname, (error) => (error === null ? resolve() : reject(error)));
  });
}
