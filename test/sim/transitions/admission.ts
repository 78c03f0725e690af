import { KINDS } from "../../../src/api/v1alpha1/kinds.ts";
import type { KubeClient, KubeQuery } from "../../../src/kube/client.ts";
import { isNotFound, KubeError } from "../../../src/kube/errors.ts";
import type { AnyObject } from "../../support/world.ts";

export type Result = { kind: "Applied"; object: AnyObject } | { kind: "Rejected" | "Immutable"; message: string };

/** Creates and updates objects of a kind, and tells refusals from failures. */
export function apiOf(
  { kube, namespace }: { kube: KubeClient; namespace: string },
  kind: string,
  query: KubeQuery = {},
) {
  const row = KINDS.find(({ resource }) => resource.kind === kind);
  if (row === undefined) throw new Error(`there is no kind ${kind}`);
  const { resource } = row;
  const place = resource.namespaced ? { namespace } : {};

  async function attempt(write: () => Promise<AnyObject>): Promise<Result> {
    try {
      return { kind: "Applied", object: await write() };
    } catch (error) {
      if (!(error instanceof KubeError) || ![400, 422].includes(error.status)) throw error;
      const isImmutable = /cannot be changed|immutable/i.test(error.message);
      return { kind: isImmutable ? "Immutable" : "Rejected", message: error.message };
    }
  }
  return {
    create: (name: string, spec: Record<string, unknown>) =>
      attempt(() => {
        const body = { apiVersion: "mooring.dev/v1alpha1", kind, metadata: { name, ...place }, spec };
        return kube.create<AnyObject>(resource, place, body, { query });
      }),
    /** A job may be gone already. */
    remove: (name: string) =>
      kube.delete(resource, { ...place, name }).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      }),
    async update(name: string, spec: Record<string, unknown>): Promise<Result> {
      for (;;) {
        const object = await kube.get<AnyObject>(resource, { ...place, name });
        const result = await attempt(() =>
          kube.update<AnyObject>(resource, { ...place, name }, { ...object, spec }, { query }),
        ).catch((error: unknown) => {
          if (error instanceof KubeError && error.status === 409) return undefined;
          throw error;
        });
        if (result !== undefined) return result;
      }
    },
  };
}
