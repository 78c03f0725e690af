import { KINDS } from "../api/v1alpha1/kinds.ts";
import { FINALIZER } from "../api/v1alpha1/meta.ts";
import type { KubeClient } from "../kube/client.ts";
import { isConflict, isNotFound } from "../kube/errors.ts";
import type { Resource } from "../kube/resource.ts";
import type { KubeObject } from "../kube/types.ts";

const PAGE = 500;

/** An object that was released, or would be. */
export type Released = { kind: string; key: string; deleting: boolean };

/**
 * Takes Mooring's finalizer off every object, so that each can be deleted while no operator runs. Nothing is sent to the
 * remote service: endpoints stay there as they are. The caller sees to it that no operator works meanwhile, which would put
 * finalizers back. Kinds that the API server does not serve are passed over.
 * @param namespaces empty for all
 */
export async function* releaseObjects(
  kube: KubeClient,
  { namespaces, dryRun, signal }: { namespaces: readonly string[]; dryRun: boolean; signal: AbortSignal },
): AsyncGenerator<Released> {
  for (const { resource } of KINDS) {
    const places = resource.namespaced && namespaces.length > 0 ? namespaces : [undefined];
    for (const namespace of places) {
      for await (const object of listAll(kube, resource, { namespace, signal })) {
        if (object.metadata.finalizers?.includes(FINALIZER) !== true) continue;
        if (!dryRun) await release(kube, resource, object, signal);
        const { name } = object.metadata;
        yield {
          kind: resource.kind,
          key: object.metadata.namespace === undefined ? name : `${object.metadata.namespace}/${name}`,
          deleting: object.metadata.deletionTimestamp !== undefined,
        };
      }
    }
  }
}

/** All objects of a kind, in pages; none when the API server does not serve the kind. */
export async function* listAll<T extends KubeObject>(
  kube: KubeClient,
  resource: Resource,
  { namespace, signal }: { namespace: string | undefined; signal?: AbortSignal },
): AsyncGenerator<T> {
  let next: string | undefined;
  do {
    try {
      const query = { limit: PAGE, continue: next };
      const page = await kube.list<T>(resource, { namespace }, { query, ...(signal === undefined ? {} : { signal }) });
      yield* page.items;
      next = page.metadata.continue || undefined;
    } catch (error) {
      if (isNotFound(error)) return;
      throw error;
    }
  } while (next !== undefined);
}

/** Other finalizers stay. A change meanwhile is a conflict, after which the object is read again. */
async function release(kube: KubeClient, resource: Resource, object: KubeObject, signal: AbortSignal): Promise<void> {
  const { name, namespace, resourceVersion, finalizers = [] } = object.metadata;
  const rest = finalizers.filter((one) => one !== FINALIZER);
  try {
    await kube.mergePatch(
      resource,
      { namespace, name },
      { metadata: { resourceVersion, finalizers: rest } },
      { signal },
    );
  } catch (error) {
    if (isNotFound(error)) return;
    if (!isConflict(error)) throw error;
    const query = { fieldSelector: `metadata.name=${name}` };
    const { items } = await kube.list<KubeObject>(resource, { namespace }, { signal, query });
    const [current] = items;
    if (current?.metadata.finalizers?.includes(FINALIZER)) await release(kube, resource, current, signal);
  }
}
