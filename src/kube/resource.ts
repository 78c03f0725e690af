import type { OwnerReference } from "./types.ts";

/** Where a kind lives in the API: enough to build every request path. */
export type Resource = {
  /** "" for the core group. */
  group: string;
  version: string;
  plural: string;
  kind: string;
  namespaced: boolean;
};

export type Place = { namespace?: string | undefined; name?: string | undefined; subresource?: string | undefined };

/** The request path of a collection, an object or a subresource: `/apis/GROUP/VERSION[/namespaces/NS]/PLURAL[/NAME[/SUB]]`. */
export function resourcePath(resource: Resource, place: Place = {}): string {
  const root = resource.group === "" ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
  const namespace = place.namespace === undefined ? "" : `/namespaces/${encodeURIComponent(place.namespace)}`;
  const name = place.name === undefined ? "" : `/${encodeURIComponent(place.name)}`;
  const subresource = place.subresource === undefined ? "" : `/${place.subresource}`;
  return `${root}${namespace}/${resource.plural}${name}${subresource}`;
}

export function apiVersionOf(resource: Resource): string {
  return resource.group === "" ? resource.version : `${resource.group}/${resource.version}`;
}

/**
 * The owner of an object that the garbage collector removes with it. It does not block the owner's deletion, which would need permission
 * on the owner's finalizers.
 */
export function controllerReference(resource: Resource, { name, uid }: { name: string; uid: string }): OwnerReference {
  return {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    name,
    uid,
    controller: true,
  };
}

/** A kind of version v1. @param group "" for the core group */
export const resourceV1 = (group: string, kind: string, plural: string, namespaced = true): Resource => ({
  group,
  version: "v1",
  plural,
  kind,
  namespaced,
});

export const namespaceResource = resourceV1("", "Namespace", "namespaces", false);
export const configMapResource = resourceV1("", "ConfigMap", "configmaps");
export const secretResource = resourceV1("", "Secret", "secrets");
export const serviceResource = resourceV1("", "Service", "services");
export const eventResource = resourceV1("events.k8s.io", "Event", "events");
