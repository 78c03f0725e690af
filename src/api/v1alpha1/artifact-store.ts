import * as z from "zod";
import type { NamespacedObject } from "../../kube/types.ts";
import { byteQuantity, flag, matching, objectName, parseBytes, relativePrefix, text } from "../schema/fields.ts";
import { ruled } from "../schema/rule.ts";
import { commonStatus, PENDING_STATUS, reuseSchema } from "./meta.ts";

const s3Schema = z
  .object({
    endpoint: matching(
      "^https?://[^\\s/@?#]+(/[^\\s@?#]*)?$",
      2048,
      "Address of the S3 service. Default: Amazon S3 in the region.",
      "endpoint must be http(s)://host[:port][/path] without user, query or fragment: keys go into credentialsSecretRef",
    ).optional(),
    region: matching(
      "^[A-Za-z0-9][-A-Za-z0-9_]*$",
      64,
      "Region that requests are signed for. Default us-east-1.",
      "region must be letters, digits, '-' and '_', for example eu-central-1",
    ).default("us-east-1"),
    bucket: matching(
      "^[a-z0-9][-.a-z0-9]{1,61}[a-z0-9]$",
      63,
      "The bucket; it must exist.",
      "bucket must be 3 to 63 lower-case letters, digits, '-' and '.', a letter or digit first and last",
    ),
    prefix: relativePrefix("Path inside the bucket that every key starts with.", "prefix").optional(),
    forcePathStyle: flag(
      "True: the bucket is in the path (http://host/bucket/key), which most self-hosted services need. Default false: it is in the host name.",
    ).default(false),
    credentialsSecretRef: z
      .object({ name: objectName("Name of the Secret.") })
      .describe(
        "A Secret in this namespace with the keys AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and AWS_SESSION_TOKEN for temporary credentials. Default: the operator's own identity (environment, web identity, instance profile), which needs an operator with --allow-ambient-credentials.",
      )
      .optional(),
  })
  .describe("A bucket of Amazon S3 or of a service that supports its protocol.");

const volumeSchema = z
  .object({
    path: matching(
      "^[A-Za-z0-9][-A-Za-z0-9_.]*(/[A-Za-z0-9][-A-Za-z0-9_.]*)*$",
      512,
      "Folder under the operator's --artifact-root. The operator creates a missing folder.",
      "path must be relative without '..', each part of letters, digits, '-', '_' and '.' with a letter or digit first, for example results/2026",
    ),
  })
  .describe("A folder on the volume of the operator.");

/** Above all uncompressed results of ten seconds of video, and of the longest text of speech-2.6-turbo without pauses. */
export const DEFAULT_MAX_BYTES_PER_JOB = "4Gi";
/** A bucket takes an object of 9,999 parts of 8 MiB. */
const LARGEST_JOB = "64Gi";

const limitFields = {
  maxBytesPerJob: byteQuantity(
    "Most bytes that one job stores, at most 64Gi. A request for speech whose audio can be larger is not sent. Default 4Gi.",
    "maxBytesPerJob",
    LARGEST_JOB,
  ).default(DEFAULT_MAX_BYTES_PER_JOB),
  maxBytes: byteQuantity(
    "New jobs wait while the store is larger than this. Submitted jobs still store their results. Default: none.",
    "maxBytes",
    "1000Ti",
  ).optional(),
  reuse: reuseSchema(
    "Default of spec.reuse of the jobs that write to this store. Default: that of their account.",
  ).optional(),
};

export const artifactStoreSpecSchema = ruled(
  z.object({ s3: s3Schema.optional(), volume: volumeSchema.optional(), ...limitFields }),
  [
    {
      cel: "has(self.s3) != has(self.volume)",
      message: "an ArtifactStore needs exactly one of s3 and volume: set one, remove the other",
      holds: ({ s3, volume }) => (s3 === undefined) !== (volume === undefined),
    },
    {
      cel: "!has(self.maxBytes) || quantity(self.maxBytesPerJob).compareTo(quantity(self.maxBytes)) <= 0",
      message: "maxBytesPerJob must not be larger than maxBytes: raise maxBytes, or lower maxBytesPerJob",
      fieldPath: ".maxBytesPerJob",
      holds: ({ maxBytesPerJob, maxBytes }) => maxBytes === undefined || bytesOf(maxBytesPerJob) <= bytesOf(maxBytes),
    },
  ],
).describe("Destination of result copies.");

/** 0 for what is no quantity, which has a rule of its own. */
function bytesOf(quantity: string): number {
  try {
    return parseBytes(quantity);
  } catch {
    return 0;
  }
}
export type ArtifactStoreSpec = z.output<typeof artifactStoreSpecSchema>;

export const artifactStoreStatusSchema = z
  .object({
    ...commonStatus,
    location: text(4096, "Location of the copies: s3://BUCKET/PREFIX, or file:// and the folder.", 0).optional(),
  })
  .default(PENDING_STATUS)
  .describe("Whether the store works. The operator writes, reads and removes a small object.");
export type ArtifactStoreStatus = z.output<typeof artifactStoreStatusSchema>;

export type ArtifactStore = NamespacedObject<ArtifactStoreSpec, ArtifactStoreStatus>;
