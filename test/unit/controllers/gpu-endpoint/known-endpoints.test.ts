import { describe, expect, it } from "vitest";
import type { GpuEndpoint } from "../../../../src/api/v1alpha1/gpu-endpoint.ts";
import { claimIndexers } from "../../../../src/controllers/gpu-endpoint/claims.ts";
import { endpointsKnownTo, findOrphans, knownEndpoints } from "../../../../src/controllers/gpu-endpoint/orphans.ts";
import { createStore } from "../../../../src/runtime/store.ts";
import { CLUSTER_UID, desiredOf, endpointOf, recordOf } from "../../../support/endpoints.ts";

const uid = (serial: number) => `aaaaaaaa-0000-0000-0000-${String(serial).padStart(12, "0")}`;
const bound = endpointOf({}, { name: "bound", uid: uid(1), status: { conditions: [], endpointID: "ep-bound" } });
const creating = endpointOf({}, { name: "creating", uid: uid(2) });
const renamed = endpointOf({}, { name: "renamed", uid: uid(3), status: { conditions: [], appName: "old-aaaaaaaaaa" } });
const one = recordOf(desiredOf(bound));

function storeOf(...objects: GpuEndpoint[]) {
  const store = createStore<GpuEndpoint>(claimIndexers(CLUSTER_UID));
  for (const object of objects) store.upsert(object);
  let passes = 0;
  const list = () => {
    passes++;
    return store.list();
  };
  return { ...store, list, passes: () => passes };
}

describe("endpoints that a store of objects knows", () => {
  const records = [
    { ...one, id: "ep-bound" },
    { ...one, id: "ep-creating", appName: desiredOf(creating).appName },
    { ...one, id: "ep-renamed", appName: "old-aaaaaaaaaa" },
    { ...one, id: "ep-orphan", appName: "old-bbbbbbbbbb" },
  ];

  it("are those that a pass over all objects finds", () => {
    const objects = [bound, creating, renamed];
    const orphans = findOrphans(records, endpointsKnownTo(storeOf(...objects)));
    expect(orphans).toEqual(findOrphans(records, knownEndpoints(objects, CLUSTER_UID)));
    expect(orphans.map(({ id }) => id)).toEqual(["ep-orphan"]);
  });

  it("are found without a pass over all objects while every endpoint is bound, and with one pass else", () => {
    const store = storeOf(bound);
    expect(
      findOrphans(
        [one, one].map((record) => ({ ...record, id: "ep-bound" })),
        endpointsKnownTo(store),
      ),
    ).toEqual([]);
    expect(store.passes()).toBe(0);
    expect(findOrphans(records, endpointsKnownTo(store))).toHaveLength(3);
    expect(store.passes()).toBe(1);
  });
});
