import { clusterAccountResource } from "../../src/api/v1alpha1/kinds.ts";
import type { KubeObject } from "../../src/kube/types.ts";
import type { World } from "./world.ts";

/** A ClusterAccount at the world's simulator, with the Secret of the world's namespace; gone when `use` ends. */
export async function withClusterAccount(
  world: World,
  spec: object,
  use: (name: string) => Promise<void>,
): Promise<void> {
  const name = `of-${world.namespace}`;
  const apiKeySecretRef = { namespace: world.namespace, name: "key", key: "apiKey" };
  await world.kube.create(clusterAccountResource, {}, {
    apiVersion: "mooring.dev/v1alpha1",
    kind: "ClusterAccount",
    metadata: { name },
    spec: { baseURL: world.simulator.url, apiKeySecretRef, ...spec },
  } as KubeObject);
  try {
    await use(name);
  } finally {
    await world.kube.delete(clusterAccountResource, { name });
  }
}
