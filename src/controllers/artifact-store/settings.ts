import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseBytes } from "../../api/schema/fields.ts";
import type { ArtifactStore, ArtifactStoreSpec } from "../../api/v1alpha1/artifact-store.ts";
import { DEFAULT_LIMITS, type StoreLimits, type StoreOptions } from "../../artifacts/handle.ts";
import { joinKey } from "../../artifacts/key.ts";
import type { S3Credentials, S3Options } from "../../artifacts/s3/bucket.ts";
import { plainText } from "../../base/sanitizer.ts";
import { StalledError, type ValueReader } from "../references.ts";

export type StoreWiring = {
  /** The operator's `--artifact-root`. */
  artifactRoot: string | undefined;
  /** Judges the addresses of S3 services. */
  lookup: S3Options["lookup"];
  /** The operator's `--allow-ambient-credentials`: whether a store without credentials uses the operator's own identity. */
  allowAmbientCredentials: boolean;
};

/** Everything a store is opened with. @throws StalledError */
export async function settingsOf(
  store: ArtifactStore,
  reader: ValueReader,
  wiring: StoreWiring,
): Promise<StoreOptions> {
  const { s3, volume } = store.spec;
  if (s3 !== undefined) {
    const { credentialsSecretRef: ref, ...rest } = s3;
    if (ref === undefined && !wiring.allowAmbientCredentials) {
      throw new StalledError(
        "StoreDenied",
        "spec.s3.credentialsSecretRef is not set: name a Secret with the credentials; the operator's own identity is used only when its administrator starts it with --allow-ambient-credentials",
      );
    }
    const credentials =
      ref === undefined ? undefined : await readCredentials(reader, store.metadata.namespace, ref.name);
    return { kind: "s3", s3: { ...rest, credentials, lookup: wiring.lookup } };
  }
  if (wiring.artifactRoot === undefined) {
    throw new StalledError(
      "VolumeNotAvailable",
      "spec.volume needs an operator that was started with --artifact-root: mount a volume and set it, or use spec.s3",
    );
  }
  return { kind: "volume", volume: { root: wiring.artifactRoot, path: volume?.path ?? "" } };
}

export function limitsOf({ maxBytesPerJob, maxBytes, reuse }: ArtifactStoreSpec): StoreLimits {
  return {
    ...DEFAULT_LIMITS,
    maxBytes: parseBytes(maxBytesPerJob),
    maxStoreBytes: maxBytes === undefined ? undefined : parseBytes(maxBytes),
    reuse: reuse === undefined ? undefined : reuse === "SameRequest",
  };
}

/** By the names that the AWS tools and ObjectBucketClaims use. @throws StalledError */
export async function readCredentials(reader: ValueReader, namespace: string, name: string): Promise<S3Credentials> {
  const value = async (key: string) => (await reader.secretKey(namespace, { name, key })).trim();
  const accessKeyId = await value("AWS_ACCESS_KEY_ID");
  const secretAccessKey = await value("AWS_SECRET_ACCESS_KEY");
  const sessionToken = await value("AWS_SESSION_TOKEN").catch((error: unknown) => {
    if (error instanceof StalledError && error.reason === "SecretKeyMissing") return undefined;
    throw error;
  });
  return { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) };
}

/** Characters of `status.location`. */
const LONGEST_LOCATION = 4096;

/** Where artifacts go, for `kubectl get`. */
export function locationOf({ s3, volume }: ArtifactStoreSpec, artifactRoot: string | undefined): string {
  const location =
    s3 === undefined
      ? pathToFileURL(join(artifactRoot ?? "/", volume?.path ?? "")).href
      : `s3://${joinKey(s3.bucket, s3.prefix ?? "")}`;
  return plainText(location, LONGEST_LOCATION);
}
