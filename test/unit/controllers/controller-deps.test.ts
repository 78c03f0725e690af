import { expect, it } from "vitest";
import type { GpuEndpoint, GpuEndpointStatus } from "../../../src/api/v1alpha1/gpu-endpoint.ts";
import { gpuEndpointResource as resource } from "../../../src/api/v1alpha1/kinds.ts";
import { createKind } from "../../../src/controllers/controller-deps.ts";
import { markPartial } from "../../../src/runtime/shortened.ts";
import { createStore } from "../../../src/runtime/store.ts";
import { endpointOf } from "../../support/endpoints.ts";

const { signal } = new AbortController();
const status: GpuEndpointStatus = { conditions: [], endpointID: "ep-1" };

it.each([
  { write: "a whole status", partial: false },
  { write: "the status of an object that is stored in part", partial: true },
  { write: "the finalizer", partial: false },
])("$write has the version of the object that it was decided on as its lock", async ({ write, partial }) => {
  const bodies: unknown[] = [];
  const answer = async (...[, , body]: unknown[]) => {
    bodies.push(body);
    return endpointOf({}, { resourceVersion: "6" });
  };
  const kind = createKind<GpuEndpoint>({ mergePatch: answer, update: answer } as never, {
    resource,
    store: createStore(),
  });
  const object = endpointOf({}, { resourceVersion: "5" });
  if (partial) markPartial(object);
  await (write === "the finalizer"
    ? kind.setFinalizer(object, true, signal)
    : kind.patchStatus(object, status, signal));
  expect(bodies).toMatchObject([{ metadata: { resourceVersion: "5" } }]);
});
