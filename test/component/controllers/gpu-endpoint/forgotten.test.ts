import { expect, it } from "vitest";
import type { GpuEndpoint } from "../../../../src/api/v1alpha1/gpu-endpoint.ts";
import { gpuEndpointResource } from "../../../../src/api/v1alpha1/kinds.ts";
import { createKind } from "../../../../src/controllers/controller-deps.ts";
import { claimIndexers } from "../../../../src/controllers/gpu-endpoint/claims.ts";
import { createGpuEndpointReconciler } from "../../../../src/controllers/gpu-endpoint/controller.ts";
import { createStore } from "../../../../src/runtime/store.ts";
import { CLUSTER_UID } from "../../../support/endpoints.ts";
import { scriptedApi, silentLog } from "../../../support/scripted-api-server.ts";
import { sharedOf } from "../../../support/shared.ts";

it("nothing is kept of a GpuEndpoint that is gone: its references and its exports are forgotten", async () => {
  const api = await scriptedApi(() => ({ status: 404, body: {} }));
  const shared = sharedOf(api.client, gpuEndpointResource, { clusterUID: CLUSTER_UID });
  const forgotten: string[] = [];
  const recording = (what: string) => ({ forget: (key: string) => void forgotten.push(`${what} ${key}`) });
  const { reconcile } = createGpuEndpointReconciler(
    {
      ...shared,
      references: { ...shared.references, ...recording("references") },
      exports: { ...shared.exports, ...recording("exports") },
    },
    createKind(api.client, {
      resource: gpuEndpointResource,
      store: createStore<GpuEndpoint>(claimIndexers(CLUSTER_UID)),
    }),
    { moved: () => {} },
  );
  await reconcile(
    { key: "team/echo", namespace: "team", name: "echo" },
    { signal: new AbortController().signal, log: silentLog },
  );
  expect(forgotten).toEqual(["references gpuendpoints:team/echo", "exports gpuendpoints:team/echo"]);
});
