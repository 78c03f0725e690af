import { inject } from "vitest";
import { KINDS } from "../../src/api/v1alpha1/kinds.ts";
import { createKubeClient } from "../../src/kube/client.ts";
import { loadCredentials } from "../../src/kube/credentials.ts";
import { eventually } from "../support/world.ts";

/** Waits until the API server serves every kind: for a moment after its start, it refuses lists of new kinds. */
export async function waitForEveryKind(): Promise<void> {
  const kube = createKubeClient(await loadCredentials({ kubeconfig: inject("kubeconfig") }));
  try {
    for (const { resource } of KINDS) await eventually(`${resource.plural} are served`, () => kube.list(resource, {}));
  } finally {
    await kube.close();
  }
}
