import type { LookupFunction } from "node:net";
import { createSharedPools, DEFAULT_LIMITS, openStore, type StoreLimits } from "../../src/artifacts/handle.ts";
import type { ArtifactStoreHandle } from "../../src/artifacts/types.ts";
import { systemClock } from "../../src/base/clock.ts";
import type { S3Server } from "./versitygw.ts";

const handleOptions = (limits: Partial<StoreLimits>, clock = systemClock) => ({
  clock,
  group: "team",
  ...createSharedPools(),
  limits: () => ({ ...DEFAULT_LIMITS, ...limits }),
});

export function volumeStore(
  root: string,
  limits: Partial<StoreLimits> = {},
  path = "results",
  clock = systemClock,
): Promise<ArtifactStoreHandle> {
  return openStore({ kind: "volume", volume: { root, path } }, handleOptions(limits, clock));
}

export function s3Store(
  server: Pick<S3Server, "endpoint" | "accessKeyId" | "secretAccessKey">,
  options: { bucket?: string; prefix?: string; lookup?: LookupFunction; limits?: Partial<StoreLimits> } = {},
): Promise<ArtifactStoreHandle> {
  const { endpoint, accessKeyId, secretAccessKey } = server;
  const s3 = {
    endpoint,
    region: "us-east-1",
    bucket: options.bucket ?? "results",
    prefix: options.prefix,
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
    lookup: options.lookup,
  };
  return openStore({ kind: "s3", s3 }, handleOptions(options.limits ?? {}));
}
