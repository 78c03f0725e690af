import type { MediaBatch } from "../../api/v1alpha1/media-batch.ts";
import { ArtifactError } from "../../artifacts/errors.ts";
import type { KubeClient } from "../../kube/client.ts";
import { configMapResource } from "../../kube/resource.ts";
import type { Reference } from "../../runtime/reference-poller.ts";
import type { StoreRegistry } from "../artifact-store/registry.ts";
import { longHashOf } from "../hash.ts";
import { createValueReader, StalledError } from "../references.ts";

/** Most bytes of an object with items. */
const MAX_BYTES = 256 * 1024 * 1024;

/** The bytes of items from a place on. `version`: other content has another one. */
export type OpenedItems = { bytes: AsyncIterable<Uint8Array>; version: string | undefined; close(): Promise<void> };

/** Where the items of a batch are. */
export type ItemSource = {
  /**
   * Opens the items at a byte. `version`: as they were read before.
   * @throws StalledError when they do not exist or are too large; ItemsChangedError when they have another version
   */
  open(offset: number, version: string | undefined, signal: AbortSignal): Promise<OpenedItems>;
};

/** The items are not those that were read before. */
export class ItemsChangedError extends Error {
  override readonly name = "ItemsChangedError";
}

type SourceDeps = { kube: KubeClient; stores: Pick<StoreRegistry, "resolve"> };

/** @param whole a batch with all of its spec */
export function sourceOf(whole: MediaBatch, { kube, stores }: SourceDeps): ItemSource {
  const { namespace } = whole.metadata;
  const { inline, configMapKeyRef, object } = whole.spec.items;
  if (object !== undefined) return objectSource(namespace, object, stores);
  if (configMapKeyRef !== undefined) {
    return textSource((signal) => createValueReader(kube, signal).configMapKey(namespace, configMapKeyRef));
  }
  return textSource(async () => (inline ?? []).map((item) => JSON.stringify(item)).join("\n"));
}

/** What the items of a batch are read from and that may not be watched. */
export function itemReferences({ metadata, spec }: MediaBatch): Reference[] {
  const { configMapKeyRef } = spec.items;
  if (configMapKeyRef === undefined) return [];
  return [{ resource: configMapResource, namespace: metadata.namespace, name: configMapKeyRef.name }];
}

function textSource(read: (signal: AbortSignal) => Promise<string>): ItemSource {
  return {
    async open(offset, wanted, signal) {
      const text = await read(signal);
      const version = longHashOf(text);
      if (wanted !== undefined && wanted !== version) throw new ItemsChangedError("the items have changed");
      return { bytes: once(Buffer.from(text).subarray(offset)), version, close: async () => undefined };
    },
  };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

type ObjectItems = NonNullable<MediaBatch["spec"]["items"]["object"]>;

function objectSource(namespace: string, { storeRef, key }: ObjectItems, stores: SourceDeps["stores"]): ItemSource {
  const name = `items.object.key ${key} of ArtifactStore ${namespace}/${storeRef.name}`;
  return {
    async open(start, version, signal) {
      const resolved = stores.resolve(namespace, storeRef);
      if (resolved.kind === "Checking")
        throw new Error(`ArtifactStore ${namespace}/${storeRef.name} is not checked yet`);
      if (resolved.kind === "Held") throw new StalledError(resolved.reason, resolved.message);
      try {
        const opened = await resolved.store.read(key, { start, end: undefined, version }, signal);
        if (opened === undefined) throw new ItemsChangedError(`${name} is shorter than before`);
        if (opened.totalBytes > MAX_BYTES) {
          await opened.close();
          const message = `${name} has ${opened.totalBytes} bytes, and a batch takes ${MAX_BYTES}: divide the items among several batches`;
          throw new StalledError("InvalidItems", message);
        }
        return { bytes: opened.chunks, version: opened.version, close: opened.close };
      } catch (error) {
        if (!(error instanceof ArtifactError)) throw error;
        if (error.kind === "SourceChanged") throw new ItemsChangedError(`${name} has changed`);
        if (error.kind !== "NotFound") throw error;
        throw new StalledError("InvalidItems", `${name} does not exist: upload it`);
      }
    },
  };
}
