import { KINDS } from "../../../api/v1alpha1/kinds.ts";
import { FINALIZER } from "../../../api/v1alpha1/meta.ts";
import type { KubeClient } from "../../../kube/client.ts";
import { isConflict, isNotFound } from "../../../kube/errors.ts";
import type { Resource } from "../../../kube/resource.ts";
import { type KubeObject, keyOf } from "../../../kube/types.ts";

const PAGE = 500;

/** An object that was released, or would be. `kept`: why it keeps its finalizer. */
export type Released = { kind: string; key: string; deleting: boolean; kept?: string };

export type ReleaseOptions = {
  /** Empty for all. */
  namespaces: readonly string[];
  dryRun: boolean;
  signal: AbortSignal;
  /** Why an object keeps its finalizer; undefined: it is released. */
  keeps: (resource: Resource, object: KubeObject) => string | undefined;
};

/**
 * Takes Mooring's finalizer off every object, so that each can be deleted while no operator runs. Nothing is sent to the
 * remote service: endpoints stay there as they are. The caller makes sure that no operator works meanwhile, which would put
 * finalizers back. Kinds that the API server does not serve are skipped.
 */
export async function* releaseObjects(
  kube: KubeClient,
  { namespaces, dryRun, signal, keeps }: ReleaseOptions,
): AsyncGenerator<Released> {
  for (const { resource } of KINDS) {
    const places = resource.namespaced && namespaces.length > 0 ? namespaces : [undefined];
    for (const namespace of places) {
      for await (const object of listAll(kube, resource, { namespace, signal })) {
        if (object.metadata.finalizers?.includes(FINALIZER) !== true) continue;
        const kept = keeps(resource, object);
        if (!dryRun && kept === undefined) await release(kube, resource, object, { signal, keeps });
        yield {
          kind: resource.kind,
          key: keyOf(object),
          deleting: object.metadata.deletionTimestamp !== undefined,
          ...(kept === undefined ? {} : { kept }),
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

/** Other finalizers stay. A change meanwhile is a conflict, after which the object is read and judged again. */
async function release(
  kube: KubeClient,
  resource: Resource,
  object: KubeObject,
  options: Pick<ReleaseOptions, "signal" | "keeps">,
): Promise<void> {
  const { signal, keeps } = options;
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
    if (!current?.metadata.finalizers?.includes(FINALIZER)) return;
    const kept = keeps(resource, current);
    if (kept !== undefined)
      throw new Error(`${resource.kind} ${keyOf(current)} changed meanwhile: ${kept}; run this again`);
    await release(kube, resource, current, options);
  }
}
