import { randomBytes } from "node:crypto";
import { namespaceResource } from "../../src/kube/resource.ts";
import type { World } from "./world.ts";

/** Makes a namespace for the lease and the journal of another installation. The caller deletes it. */
export async function installationNamespace({ kube }: World): Promise<string> {
  const name = `installation-${randomBytes(4).toString("hex")}`;
  await kube.create(namespaceResource, {}, { metadata: { name }, spec: {} });
  return name;
}
