import { ADDRESS_REFUSED } from "../../net/address-guard.ts";
import { ownValue } from "../../own-value.ts";
import { ArtifactError, type ArtifactErrorKind } from "../errors.ts";
import { codeOf, words } from "../source-failure.ts";

/** What the error codes of S3 and of the services that speak its protocol mean. */
const KINDS: Record<string, { kind: ArtifactErrorKind; advice: string }> = {
  NoSuchBucket: { kind: "NotFound", advice: "create it, or correct spec.s3.bucket" },
  PermanentRedirect: { kind: "NotFound", advice: "the bucket is in another region: correct spec.s3.region" },
  AuthorizationHeaderMalformed: { kind: "Denied", advice: "correct spec.s3.region" },
  InvalidAccessKeyId: { kind: "Denied", advice: "correct AWS_ACCESS_KEY_ID in the Secret" },
  // versitygw's word for it.
  XAdminUserNotFound: { kind: "Denied", advice: "correct AWS_ACCESS_KEY_ID in the Secret" },
  SignatureDoesNotMatch: { kind: "Denied", advice: "correct AWS_SECRET_ACCESS_KEY in the Secret" },
  ExpiredToken: { kind: "Denied", advice: "renew the credentials" },
  AccessDenied: {
    kind: "Denied",
    advice:
      "allow s3:PutObject, GetObject, DeleteObject, AbortMultipartUpload and ListMultipartUploadParts on the keys, ListBucketMultipartUploads on the bucket",
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

/** What a failed call of S3 means. An `ArtifactError` passes through. @param shown names bucket and key */
export function s3Failure(error: unknown, shown: string, signal?: AbortSignal): ArtifactError {
  if (error instanceof ArtifactError) return error;
  if (signal?.aborted) {
    const { reason } = signal;
    return reason instanceof ArtifactError
      ? reason
      : new ArtifactError("Aborted", `${shown}: ended: ${words(reason)}`, reason);
  }
  if (codeOf(error) === ADDRESS_REFUSED) return new ArtifactError("AddressRefused", words(error), error);
  const name = error instanceof Error ? error.name : "";
  const status = statusOf(error);
  const known = ownValue(KINDS, name);
  const kind = known?.kind ?? kindOfStatus(status);
  const what = status === undefined ? words(error) : `${name} (HTTP ${status}): ${words(error)}`;
  const advice = known === undefined || known.advice === "" ? "" : `: ${known.advice}`;
  return new ArtifactError(kind, `${shown}: ${advice === "" ? what : what.replace(/\.$/, "")}${advice}`, error);
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
