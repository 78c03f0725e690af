import type { KubeClient } from "../../src/kube/client.ts";
import { KubeError } from "../../src/kube/errors.ts";
import type { KubeObject } from "../../src/kube/types.ts";
import type { Store } from "../../src/runtime/store.ts";
import { merged } from "./manifests.ts";

/**
 * An API server in memory for tests with many thousands of requests under a clock that stands still: a request takes no
 * time and no socket. It keeps the objects of one kind, which `store` shows like a watch, and ConfigMaps.
 */
export function memoryKube<T extends KubeObject>(store: Store<T>): { client: KubeClient } {
  const others = new Map<string, KubeObject>();
  let version = 1_000;
  const stored = <O extends KubeObject>(object: O): O => {
    version++;
    return { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
  };
  const unsupported = async () => {
    throw new Error("the API server in memory does not know this request");
  };
  const client: KubeClient = {
    defaultNamespace: undefined,
    async get(resource, { namespace, name }) {
      const found = others.get(`${resource.plural}/${namespace}/${name}`);
      if (found === undefined) throw new KubeError("not found", { status: 404, reason: "NotFound" });
      return found as never;
    },
    async create(resource, { namespace }, body) {
      const object = stored(body);
      if (resource.plural !== "events") others.set(`${resource.plural}/${namespace}/${body.metadata.name}`, object);
      return object;
    },
    async update(resource, { namespace, name }, body) {
      const present = store.get(`${namespace}/${name}`);
      if (!("spec" in body)) {
        if (present === undefined) throw new KubeError("not found", { status: 404, reason: "NotFound" });
        const object = stored({ ...present, status: body.status as T["status"] });
        store.upsert(object);
        return object as never;
      }
      const object = stored(body);
      others.set(`${resource.plural}/${namespace}/${name}`, object);
      return object;
    },
    async mergePatch(_resource, { namespace, name }, patch) {
      const present = store.get(`${namespace}/${name}`);
      if (present === undefined) return {} as never;
      const object = stored(merged({ ...present }, { ...patch }) as unknown as T);
      store.upsert(object);
      return object as never;
    },
    list: unsupported,
    apply: unsupported,
    delete: unsupported,
    watch: () => {
      throw new Error("the API server in memory has no watch");
    },
    close: async () => {},
  };
  return { client };
}
