import { KINDS } from "../../../api/v1alpha1/kinds.ts";
import type { KubeClient, RequestOptions } from "../../../kube/client.ts";
import { isNotFound } from "../../../kube/errors.ts";
import type { Place, Resource } from "../../../kube/resource.ts";
import type { KubeObject } from "../../../kube/types.ts";

/** A manifest of any group. Its spec has no defaults yet. */
type Manifest = KubeObject & { data?: Record<string, string>; stringData?: Record<string, string> };

/**
 * The cluster as it is after an apply of manifests: an object that the cluster does not have is read from them. Writes go to the cluster.
 * @param namespace of manifests that name none
 */
export function withManifests(kube: KubeClient, manifests: readonly unknown[], namespace: string): KubeClient {
  const applied = new Map(
    manifests.filter(isManifest).map((manifest) => {
      const { kind, metadata } = manifest;
      return [`${kind}/${metadata.namespace ?? namespace}/${metadata.name}`, manifest];
    }),
  );
  return {
    ...kube,
    async get<T extends KubeObject>(resource: Resource, place: Place, options?: RequestOptions): Promise<T> {
      try {
        return await kube.get<T>(resource, place, options);
      } catch (error) {
        const found = applied.get(`${resource.kind}/${place.namespace ?? namespace}/${place.name}`);
        const object = found && stored(found);
        if (!isNotFound(error) || object === undefined) throw error;
        return object as T; // as the API server would return it
      }
    },
  };
}

/** With the defaults that the API server adds, as far as a reader needs them. undefined: it would be refused. */
function stored(manifest: Manifest): KubeObject | undefined {
  const definition = KINDS.find(({ resource }) => resource.kind === manifest.kind);
  if (definition !== undefined) {
    const parsed = definition.spec.safeParse(manifest.spec);
    return parsed.success ? { ...manifest, spec: parsed.data } : undefined;
  }
  const { data = {}, stringData = {}, ...rest } = manifest;
  const encoded = Object.entries(stringData).map(([key, value]) => [key, Buffer.from(value).toString("base64")]);
  return { ...rest, ...{ data: { ...data, ...Object.fromEntries(encoded) } } };
}

function isManifest(document: unknown): document is Manifest {
  return typeof document === "object" && document !== null && "kind" in document && "metadata" in document;
}
