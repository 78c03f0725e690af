import { createSemaphore } from "../base/semaphore.ts";
import { type KubeObject, keyOf } from "../kube/types.ts";
import { missingGet, type ObjectReader } from "../runtime/object-reader.ts";
import { compact } from "../runtime/store.ts";
import type { Kind } from "./controller-deps.ts";

/** Most whole objects in memory at once. Each has at most the size that etcd accepts. */
const AT_ONCE = { capacity: 8, perGroup: 4 };

/** Reads objects whose copies in the store are shortened (`shortened`). */
export type WholeObjects<T extends KubeObject> = {
  /**
   * The object as the API server has it now. Undefined: it does not exist any more. `release` it after use: only so many
   * are in memory at once, and namespaces take turns.
   * @throws Error when it cannot be read
   */
  read(object: T, signal: AbortSignal): Promise<{ object: T; release(): void } | undefined>;
};

export function createWholeObjects<T extends KubeObject>(
  reader: ObjectReader,
  { resource }: Pick<Kind<T>, "resource">,
): WholeObjects<T> {
  const pool = createSemaphore(AT_ONCE);
  return {
    async read(object, signal) {
      const release = await pool.take(object.metadata.namespace ?? "", 1, signal);
      try {
        const found = await reader.read<T>(resource, keyOf(object), signal);
        if (found.kind === "Forbidden") throw new Error(missingGet(`${resource.plural}.${resource.group}`));
        if (found.kind === "Found" && found.object.metadata.uid === object.metadata.uid) {
          return { object: compact(found.object), release };
        }
        release();
        return undefined;
      } catch (error) {
        release();
        throw error;
      }
    },
  };
}
