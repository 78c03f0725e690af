import type { KubeClient } from "../kube/client.ts";
import { isAlreadyExists, isNotFound } from "../kube/errors.ts";
import { mergePatchOf } from "../kube/patch.ts";
import { apiVersionOf, type Resource } from "../kube/resource.ts";
import type { KubeObject } from "../kube/types.ts";
import { configMapResource } from "../submission/journal.ts";

/** What the API server takes as values of a ConfigMap, all of them together. */
export const CONFIG_MAP_BYTES = 1_048_576;

type ConfigMap = KubeObject & { data?: Record<string, string> };

/** The ConfigMap is there and belongs to something else. */
export class NotOwnedError extends Error {
  override readonly name = "NotOwnedError";
}

/**
 * Makes a ConfigMap in the namespace of `owner` hold exactly `data`; it goes with its owner. Nothing is written when it
 * already does.
 * @throws NotOwnedError when it is there and not the owner's; KubeError 409 when it changed meanwhile
 */
export async function writeOwnedConfigMap(
  kube: KubeClient,
  owner: { resource: Resource; object: KubeObject },
  name: string,
  data: Record<string, string>,
  signal: AbortSignal,
): Promise<void> {
  const { namespace = "", uid = "", name: ownerName } = owner.object.metadata;
  const place = { namespace, name };
  const present = await read();
  if (present === undefined) {
    const { kind } = owner.resource;
    const ownerReferences = [
      {
        apiVersion: apiVersionOf(owner.resource),
        kind,
        name: ownerName,
        uid,
        controller: true,
        blockOwnerDeletion: false,
      },
    ];
    const body = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { ...place, ownerReferences },
      spec: undefined,
      data,
    };
    try {
      await kube.create<ConfigMap>(configMapResource, { namespace }, body, { signal });
    } catch (error) {
      if (isAlreadyExists(error)) throw notOwned();
      throw error;
    }
    return;
  }
  if (!present.metadata.ownerReferences?.some((reference) => reference.uid === uid)) throw notOwned();
  const patch = mergePatchOf(present.data, data);
  if (patch === undefined) return;
  const { resourceVersion } = present.metadata;
  await kube.mergePatch<ConfigMap>(
    configMapResource,
    place,
    { metadata: { resourceVersion }, data: patch },
    { signal },
  );

  async function read(): Promise<ConfigMap | undefined> {
    try {
      return await kube.get<ConfigMap>(configMapResource, place, { signal });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  function notOwned(): NotOwnedError {
    const own = `${owner.resource.kind} ${namespace}/${ownerName}`;
    return new NotOwnedError(
      `ConfigMap ${namespace}/${name} exists and does not belong to ${own}: delete it, or choose another name`,
    );
  }
}
