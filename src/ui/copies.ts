import type { LookupFunction } from "node:net";
import type { JobResult } from "../api/v1alpha1/job.ts";
import { artifactStoreResource } from "../api/v1alpha1/kinds.ts";
import { artifactKey } from "../artifacts/key.ts";
import type { ByteRange, StoredBytes } from "../artifacts/types.ts";
import { readVolumeFile } from "../artifacts/volume/read-file.ts";
import { readCredentials } from "../controllers/artifact-store/settings.ts";
import { createValueReader, StalledError } from "../controllers/references.ts";
import type { ClusterSession, Found } from "./cluster-session.ts";
import { RequestError } from "./request-error.ts";
import type { UiObject } from "./ui-object.ts";

export type CopyAccess = {
  /** Folder in which the volume of ArtifactStores is mounted. Undefined: copies on volumes are not read. */
  artifactRoot: string | undefined;
  /** Judges the addresses of the S3 services of ArtifactStores. */
  storeLookup: LookupFunction;
};

export type WantedCopy = { found: Found; result: JobResult; index: number; range: ByteRange };

/** `Unreadable`: why this page or its user cannot read the copy; the URL of the result may still work. */
export type OpenedCopy =
  | { kind: "None" }
  | { kind: "Open"; bytes: StoredBytes }
  | { kind: "Unreadable"; why: RequestError };

const UNSATISFIABLE = new RequestError(416, "The range begins after the end of the result");

/**
 * Opens the copy of a result. The place comes from the object and its ArtifactStore; only the key of a reused result, which another job
 * stored, comes from the status. The credentials of a bucket are
 * read with the permissions of the user, for this request alone, and stay in this process.
 * @throws ArtifactError when the store fails; RequestError 416
 */
export async function openCopy(
  options: CopyAccess,
  session: ClusterSession,
  { found, result, index, range }: WantedCopy,
  signal: AbortSignal,
): Promise<OpenedCopy> {
  const { metadata, spec } = found.object;
  const { name, uid, namespace = "" } = metadata;
  if (result.artifact === undefined || spec.output === undefined) return { kind: "None" };
  const { storeRef, prefix } = spec.output;
  const store = session.find({ kind: artifactStoreResource.kind, namespace, name: storeRef.name })?.object;
  if (store === undefined) {
    return unreadable(404, `ArtifactStore ${namespace}/${storeRef.name} does not exist, or you may not see it`);
  }
  const made = artifactKey({ prefix, namespace, kind: found.resource.kind, name, uid, index, type: result.type ?? "" });
  const key = found.object.status?.reused?.keys[index] ?? made;
  const { volume, s3 } = store.spec;
  if (s3 !== undefined) return openObject({ store, s3, session, lookup: options.storeLookup }, { key, range, signal });
  if (volume === undefined || options.artifactRoot === undefined) {
    return unreadable(410, "This page does not have the volume of the ArtifactStore: start it with --artifact-root");
  }
  return opened(await readVolumeFile({ root: options.artifactRoot, path: volume.path }, key, range));
}

type StoreBucket = {
  store: UiObject;
  s3: NonNullable<UiObject["spec"]["s3"]>;
  session: ClusterSession;
  lookup: LookupFunction;
};
type PartRequest = { key: string; range: ByteRange; signal: AbortSignal };

async function openObject(
  { store, s3, session, lookup }: StoreBucket,
  { key, range, signal }: PartRequest,
): Promise<OpenedCopy> {
  const { namespace = "", name } = store.metadata;
  const { credentialsSecretRef: ref, ...place } = s3;
  if (ref === undefined) {
    // This process may have an identity of its own, which is not that of the user.
    const message = `ArtifactStore ${namespace}/${name} uses the operator's own identity, which this page does not have`;
    return unreadable(403, `${message}: read the copy with the tools of your S3 service`);
  }
  try {
    const credentials = await readCredentials(createValueReader(session.client, signal), namespace, ref.name);
    // The SDK is loaded for the first bucket.
    const { readS3Object } = await import("../artifacts/s3/read-object.ts");
    return opened(await readS3Object({ ...place, credentials, lookup }, key, range, signal));
  } catch (error) {
    if (!(error instanceof StalledError)) throw error;
    const what = `Secret ${namespace}/${ref.name}, which has the credentials of ArtifactStore ${name}`;
    if (error.reason === "ReadForbidden") return unreadable(403, `You may not read ${what}`);
    return unreadable(502, `${what}, is incomplete: ${error.message}`);
  }
}

function opened(bytes: StoredBytes | undefined): OpenedCopy {
  if (bytes === undefined) throw UNSATISFIABLE;
  return { kind: "Open", bytes };
}

function unreadable(status: number, message: string): OpenedCopy {
  return { kind: "Unreadable", why: new RequestError(status, message) };
}
