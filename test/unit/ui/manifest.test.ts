import { expect, it } from "vitest";
import type { KubeClient } from "../../../src/kube/client.ts";
import { KubeError } from "../../../src/kube/errors.ts";
import { updateObject, versionOf } from "../../../src/ui/manifest.ts";
import type { UiObject } from "../../../src/ui/ui-object.ts";
import { endpointOf } from "../../support/endpoints.ts";

const endpoint = endpointOf() as unknown as UiObject;
const manifest = {
  apiVersion: "mooring.dev/v1alpha1" as const,
  kind: "GpuEndpoint",
  metadata: { name: endpoint.metadata.name, namespace: endpoint.metadata.namespace ?? "" },
  spec: {},
};
const edit = { manifest, uid: endpoint.metadata.uid, version: versionOf("GpuEndpoint", endpoint) };

/** An API server whose object another client writes before each of the first updates. */
function serverWith(writes: number, change: (object: UiObject) => UiObject) {
  let object = endpoint;
  let updates = 0;
  const client = {
    get: async () => object,
    update: async () => {
      if (updates++ >= writes) return object;
      object = change(object);
      throw new KubeError("the object has been modified", { status: 409, reason: "Conflict" });
    },
  } as unknown as KubeClient;
  return { client, updates: () => updates };
}

it("an edit goes through although the operator writes the status meanwhile", async () => {
  const { client, updates } = serverWith(2, (object) => ({ ...object, status: { state: "settling" } }));
  await updateObject(client, edit, false);
  expect(updates()).toBe(3);
});

it("an edit is refused when another person changes the spec meanwhile, and when the conflicts do not end", async () => {
  const changed = serverWith(1, (object) => ({ ...object, spec: { ...object.spec, image: "another" } }));
  await expect(updateObject(changed.client, edit, false)).rejects.toThrow("has changed since you opened it");
  expect(changed.updates()).toBe(1);
  const endless = serverWith(100, (object) => object);
  await expect(updateObject(endless.client, edit, false)).rejects.toThrow("has been modified");
  expect(endless.updates()).toBe(5);
});
