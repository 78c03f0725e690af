import { type CopyHandleOptions, createHandle } from "./handle.ts";
import type { S3Options } from "./s3/bucket.ts";
import type { ArtifactStoreHandle } from "./types.ts";
import { createVolumeBackend, type VolumeOptions } from "./volume/backend.ts";

export type StoreOptions = { kind: "s3"; s3: S3Options } | { kind: "volume"; volume: VolumeOptions };

/** Opens a store; asks nothing of it yet. The S3 SDK is loaded for the first bucket, not before. */
export async function openStore(options: StoreOptions, handle: CopyHandleOptions): Promise<ArtifactStoreHandle> {
  if (options.kind === "volume") return createHandle(createVolumeBackend(options.volume), handle);
  const { createS3Backend } = await import("./s3/backend.ts");
  return createHandle(createS3Backend(options.s3), handle);
}
