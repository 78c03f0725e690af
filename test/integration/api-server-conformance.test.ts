import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { namespaceResource } from "../../src/controllers/account/namespaces.ts";
import { createKubeClient, type KubeClient } from "../../src/kube/client.ts";
import { loadCredentials } from "../../src/kube/credentials.ts";
import { CASES, recorded } from "../sim/conformance/cases.ts";

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
    const shown = recorded(await run({ kube, namespace }), namespace);
    const file = `../sim/conformance/recorded/${name.replaceAll(/\W+/g, "-")}.txt`;
    await expect(shown).toMatchFileSnapshot(file);
  } finally {
    await kube.delete(namespaceResource, { name: namespace });
  }
});
