import type { Resource } from "../../../src/kube/resource.ts";
import { resourcePath } from "../../../src/kube/resource.ts";
import { isJson, type Json } from "../api-server/json.ts";
import type { ApiServer } from "../api-server/server.ts";

export type PlacedAt = { namespace?: string | undefined; name: string };

/** What users and checks do at the API server, at once and without a network. */
export type Cluster = {
  get(resource: Resource, place: PlacedAt): Json | undefined;
  list(resource: Resource): Json[];
  create(resource: Resource, namespace: string | undefined, body: Json): boolean;
  patch(resource: Resource, place: PlacedAt, patch: Json): boolean;
  patchStatus(resource: Resource, place: PlacedAt, status: Json): boolean;
  replace(resource: Resource, place: PlacedAt, body: Json): boolean;
  delete(resource: Resource, place: PlacedAt): boolean;
};

export function createCluster(server: ApiServer): Cluster {
  function call(method: string, path: string, body?: Json): Json | undefined {
    const result = server.call({ method, path, query: new URLSearchParams(), body });
    if ("watch" in result) throw new Error(`${path} is a watch`);
    if (result.status === 422 || result.status === 400) throw new Error(JSON.stringify(result.body));
    return result.status < 300 ? result.body : undefined;
  }
  return {
    get: (resource, place) => call("GET", resourcePath(resource, place)),
    list(resource) {
      const items = call("GET", resourcePath(resource))?.["items"];
      return Array.isArray(items) ? items.filter(isJson) : [];
    },
    create: (resource, namespace, body) => call("POST", resourcePath(resource, { namespace }), body) !== undefined,
    patch: (resource, place, patch) => call("PATCH", resourcePath(resource, place), patch) !== undefined,
    patchStatus: (resource, place, status) =>
      call("PATCH", `${resourcePath(resource, place)}/status`, { status }) !== undefined,
    replace: (resource, place, body) => call("PUT", resourcePath(resource, place), body) !== undefined,
    delete: (resource, place) => call("DELETE", resourcePath(resource, place)) !== undefined,
  };
}
