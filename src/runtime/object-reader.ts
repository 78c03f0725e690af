import type { Logger } from "pino";
import { findObject, type KubeClient } from "../kube/client.ts";
import { isForbidden } from "../kube/errors.ts";
import type { Resource } from "../kube/resource.ts";
import { type KubeObject, splitKey } from "../kube/types.ts";

/** The result of a read of one object. `Forbidden`: the operator lacks the right `get` on the kind. */
export type ReadObject<T> = { kind: "Found"; object: T } | { kind: "NotFound" } | { kind: "Forbidden" };

/** Reads single objects. Such a read is consistent, while the lists and watches that fill a store can lag behind. */
export type ObjectReader = {
  /** @throws KubeError when the read fails, except for a missing right */
  read<T extends KubeObject>(resource: Resource, key: string, signal: AbortSignal): Promise<ReadObject<T>>;
};

/** A missing right is logged once for each kind. */
export function createObjectReader({
  kube,
  log,
}: {
  kube: Pick<KubeClient, "get">;
  log: Pick<Logger, "error">;
}): ObjectReader {
  const forbidden = new Set<string>();

  return {
    async read<T extends KubeObject>(resource: Resource, key: string, signal: AbortSignal) {
      try {
        const object = await findObject<T>(kube, resource, splitKey(key), { signal });
        return object === undefined ? { kind: "NotFound" } : { kind: "Found", object };
      } catch (error) {
        if (!isForbidden(error)) throw error;
        const name = `${resource.plural}.${resource.group}`;
        if (!forbidden.has(name)) log.error({ resource: name, reason: String(error) }, missingGet(name));
        forbidden.add(name);
        return { kind: "Forbidden" };
      }
    },
  };
}

/** What to do about a missing right `get`. @param name as `gpuendpoints.mooring.dev` */
export function missingGet(name: string): string {
  return `the operator has no right to get ${name}: grant it the verb get, as the chart of this version does`;
}
