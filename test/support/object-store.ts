import type { KubeObject } from "../../src/kube/types.ts";
import { type Answer, type ApiRequest, failure, type Script } from "./scripted-api-server.ts";

export type Stored = KubeObject & { data?: Record<string, string>; [field: string]: unknown };

export type ObjectStore = {
  script: Script;
  /** By request path. */
  objects: Map<string, Stored>;
  /** What was written, in order. */
  writes: { method: string; path: string; object: Stored }[];
  /** As another writer would. */
  put(path: string, object: Stored): void;
};

/** The rules of a real API server that matter here: names are unique, versions grow, a stale update is a conflict. */
export function createObjectStore(): ObjectStore {
  const objects = new Map<string, Stored>();
  const writes: ObjectStore["writes"] = [];
  let version = 100;

  function store(method: string, path: string, object: Stored): Stored {
    version++;
    const uid = objects.get(path)?.metadata.uid ?? `uid-${version}`;
    const next = { ...object, metadata: { uid, ...object.metadata, resourceVersion: String(version) } };
    objects.set(path, next);
    writes.push({ method, path, object: next });
    return next;
  }

  function script({ method, path, body }: ApiRequest): Answer {
    const object = body as Stored;
    if (method === "POST") {
      const own = `${path}/${object.metadata.name}`;
      if (objects.has(own)) return failure(409, "AlreadyExists", `${own} already exists`);
      return { status: 201, body: store(method, own, object) };
    }
    if (method === "GET" && path.endsWith("/leases")) {
      const items = [...objects].flatMap(([key, one]) => (key.startsWith(`${path}/`) ? [one] : []));
      return { body: { metadata: { resourceVersion: String(version) }, items } };
    }
    const present = objects.get(path);
    if (present === undefined) return failure(404, "NotFound", `${path} not found`);
    if (method === "GET") return { body: present };
    const preconditions = (body as { preconditions?: Stored["metadata"] }).preconditions;
    const { resourceVersion: wanted, uid } = preconditions ?? object.metadata ?? {};
    const replaced = uid !== undefined && uid !== present.metadata.uid;
    if (replaced || (wanted !== undefined && wanted !== present.metadata.resourceVersion)) {
      return failure(409, "Conflict", "the object has been modified; please apply your changes to the latest version");
    }
    if (method === "DELETE") {
      objects.delete(path);
      return { body: {} };
    }
    if (method === "PUT") return { body: store(method, path, object) };
    return failure(405, "MethodNotAllowed");
  }

  return { script, objects, writes, put: (path, object) => void store("PUT", path, object) };
}
