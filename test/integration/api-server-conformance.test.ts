import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { createKubeClient, type KubeClient } from "../../src/kube/client.ts";
import { loadCredentials } from "../../src/kube/credentials.ts";
import { namespaceResource } from "../../src/kube/resource.ts";
import { modFile } from "../../tools/cluster/cache.ts";
import { CASES, recorded } from "../sim/conformance/cases.ts";

/** Kubernetes 1.30 has streamed lists behind a feature gate. The reflector then lists in pages. */
const REFUSED_BY_OLDEST = "a streamed list ends with a bookmark";

let kube: KubeClient;
beforeAll(async () => {
  kube = createKubeClient(await loadCredentials({ kubeconfig: inject("kubeconfig") }));
});
afterAll(() => kube.close());

// The API server of the simulation is compared with the same recordings (test/sim/conformance).
it.each(CASES)("a real API server: $name", async ({ name, run }) => {
  const namespace = `conformance-${randomBytes(4).toString("hex")}`;
  await kube.create(namespaceResource, {}, { metadata: { name: namespace }, spec: undefined });
  try {
    if (modFile === "oldest.mod" && name === REFUSED_BY_OLDEST) {
      await expect(run({ kube, namespace })).rejects.toThrow("WatchList feature gate");
      return;
    }
    const shown = recorded(await run({ kube, namespace }), namespace);
    const file = `../sim/conformance/recorded/${name.replaceAll(/\W+/g, "-")}.txt`;
    await expect(shown).toMatchFileSnapshot(file);
  } finally {
    await kube.delete(namespaceResource, { name: namespace });
  }
});
