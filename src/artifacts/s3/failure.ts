import { ADDRESS_REFUSED } from "../../base/address-guard.ts";
import { codeOf, connectionWords } from "../../base/connection-words.ts";
import { ownValue } from "../../base/own-value.ts";
import { ArtifactError, type ArtifactErrorKind, abortion } from "../errors.ts";

/** What the error codes of S3 and of the services that speak its protocol mean. */
const KINDS: Record<string, { kind: ArtifactErrorKind; advice: string }> = {
  NoSuchBucket: { kind: "NotFound", advice: "create it, or correct spec.s3.bucket" },
  PermanentRedirect: { kind: "NotFound", advice: "the bucket is in another region: correct spec.s3.region" },
  AuthorizationHeaderMalformed: { kind: "Denied", advice: "correct spec.s3.region" },
  InvalidAccessKeyId: { kind: "Denied", advice: "correct AWS_ACCESS_KEY_ID in the Secret" },
  // The code of versitygw.
  XAdminUserNotFound: { kind: "Denied", advice: "correct AWS_ACCESS_KEY_ID in the Secret" },
  SignatureDoesNotMatch: { kind: "Denied", advice: "correct AWS_SECRET_ACCESS_KEY in the Secret" },
  ExpiredToken: { kind: "Denied", advice: "renew the credentials" },
  AccessDenied: {
    kind: "Denied",
    advice:
      "allow s3:PutObject, GetObject, DeleteObject, AbortMultipartUpload and ListMultipartUploadParts on the keys, ListBucketMultipartUploads on the bucket, and for spec.maxBytes s3:ListBucket",
  },
  CredentialsProviderError: {
    kind: "Denied",
    advice: "set spec.s3.credentialsSecretRef, or give the operator an identity",
  },
  BadDigest: { kind: "Corrupt", advice: "" },
  InvalidDigest: { kind: "Corrupt", advice: "" },
  XAmzContentChecksumMismatch: { kind: "Corrupt", advice: "" },
  XAmzContentSHA256Mismatch: { kind: "Corrupt", advice: "" },
  QuotaExceeded: { kind: "NoSpace", advice: "" },
  XMinioStorageFull: { kind: "NoSpace", advice: "" },
  XMinioAdminBucketQuotaExceeded: { kind: "NoSpace", advice: "" },
};

/** Codes without advice that a message may name. */
const NAMED = ["InternalError", "InvalidRequest", "NoSuchKey", "NoSuchUpload", "RequestTimeTooSkewed", "SlowDown"];

/**
 * What a failed call of S3 means. An `ArtifactError` passes through. The message quotes nothing of the response: the
 * tenant chooses the endpoint, and the response may come from a server that the tenant cannot reach.
 * @param shown names bucket and key
 */
export function s3Failure(error: unknown, shown: string, signal?: AbortSignal): ArtifactError {
  if (error instanceof ArtifactError) return error;
  if (signal?.aborted) return abortion(signal, `${shown}: ended`);
  if (codeOf(error) === ADDRESS_REFUSED) return new ArtifactError("AddressRefused", connectionWords(error), error);
  const name = error instanceof Error ? error.name : "";
  const known = ownValue(KINDS, name);
  const kind = known?.kind ?? kindOfStatus(statusOf(error));
  const advice = known === undefined || known.advice === "" ? "" : `: ${known.advice}`;
  return new ArtifactError(kind, `${shown}: ${describe(error, name)}${advice}`, error);
}

/** The status and a code of the list, or what broke the connection. */
function describe(error: unknown, name: string): string {
  const status = statusOf(error);
  const code = Object.hasOwn(KINDS, name) || NAMED.includes(name) ? name : undefined;
  if (status !== undefined) return code === undefined ? `HTTP ${status}` : `${code} (HTTP ${status})`;
  if (code !== undefined) return code;
  if (name === "TimeoutError") return "no response in time";
  return codeOf(error) === "" ? "the response is not one of S3" : connectionWords(error);
}

export function statusOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("$metadata" in error)) return undefined;
  const metadata: unknown = error.$metadata;
  const status: unknown =
    typeof metadata === "object" && metadata !== null ? Reflect.get(metadata, "httpStatusCode") : undefined;
  return typeof status === "number" ? status : undefined;
}

function kindOfStatus(status: number | undefined): ArtifactErrorKind {
  if (status === 401 || status === 403) return "Denied";
  if (status === 507) return "NoSpace";
  return "StoreUnreachable";
}
