import { RestoredError } from "../kube/etcd-history.ts";
import type { Resource } from "../kube/resource.ts";
import { isLaterVersion, type KubeObject, keyOf } from "../kube/types.ts";

/**
 * A list is a consistent read: its version is never earlier than `latest`, the latest version that was seen before.
 * @throws RestoredError
 */
export function assertNotEarlier(
  { plural }: Pick<Resource, "plural">,
  listed: string | undefined,
  latest: string | undefined,
): void {
  if (listed === undefined || latest === undefined || !isLaterVersion(latest, listed)) return;
  throw new RestoredError(
    `the list of ${plural} has resource version ${listed}, lower than ${latest} that was seen before: etcd was restored from a backup`,
  );
}

/**
 * Objects that a list shows in an earlier version than the stored one. A write during the list explains this only if its version is later
 * than that of the list.
 */
export function createOvertaken<T extends KubeObject>({ plural }: Pick<Resource, "plural">) {
  /** The stored versions, by key. */
  const stored = new Map<string, string>();
  return {
    observe(object: T, version: string | undefined): void {
      if (version !== undefined && isLaterVersion(version, object.metadata.resourceVersion)) {
        stored.set(keyOf(object), version);
      } else stored.delete(keyOf(object));
    },
    /** @throws RestoredError */
    assertNone(listed: string | undefined): void {
      for (const [key, version] of stored) {
        if (isLaterVersion(version, listed)) continue;
        throw new RestoredError(
          `the list of ${plural} of version ${listed} has ${key} older than ${version}, seen before`,
        );
      }
    },
  };
}
