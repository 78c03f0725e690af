import { expect, it } from "vitest";
import type { GpuEndpoint } from "../../../../src/api/v1alpha1/gpu-endpoint.ts";
import { unclaimedEndpoints } from "../../../../src/cli/operate/unclaimed-endpoints.ts";
import { claimIndexers } from "../../../../src/controllers/gpu-endpoint/claims.ts";
import {
  canRunWorkers,
  endpointsKnownTo,
  findOrphans,
  knownEndpoints,
  looksGenerated,
} from "../../../../src/controllers/gpu-endpoint/orphans.ts";
import { createStore } from "../../../../src/runtime/store.ts";
import { CLUSTER_UID, desiredOf, endpointOf, recordOf } from "../../../support/endpoints.ts";

it.each([
  ["a generated one", "echo-0a1b2c3d4e", "team-echo", true],
  ["a generated one, with a name of the user's", "echo-0a1b2c3d4e", "Echo service", true],
  ["a dotted object name", "echo-v1-0a1b2c3d4e", "team-echo.v1", true],
  ["a hash of digits alone, with the default name", "echo-1234567890", "team-echo", true],
  ["a time as a suffix", "echo-1718000000", "nightly run", false],
  ["too short a hash", "echo-0a1b2c3d4", "team-echo", false],
  ["upper case", "echo-0A1B2C3D4E", "team-echo", false],
  ["no name before the hash", "-0a1b2c3d4e", "team-", false],
  ["an endpoint's id, the service's default", "0a1b2c3d4e0a1b2c", "", false],
  ["none", "", "", false],
])("an app name that is %s", (_what, appName, name, generated) => {
  expect(looksGenerated({ appName, name })).toBe(generated);
});

it("every generated app name has the form, whatever the object is called", () => {
  for (const name of ["a", "echo.v1.2", "x".repeat(253), `${"y".repeat(51)}-.z`, "0"]) {
    const endpoint = endpointOf({}, { name });
    const { appName, name: remoteName } = desiredOf(endpoint);
    expect([appName, looksGenerated({ appName, name: remoteName })]).toEqual([appName, true]);
  }
});

it("a known app name with another ID is an orphan, unless a create of the object is under way", () => {
  const submission = { id: "i", specHash: "h", attempt: 2, time: "2026-03-01T00:00:00Z" };
  const withState = (state?: "Accepted" | "Intended") =>
    endpointOf(
      {},
      {
        status: {
          conditions: [],
          endpointID: "ep-bound",
          ...(state === undefined ? {} : { submission: { ...submission, state } }),
        },
      },
    );
  const one = recordOf(desiredOf(withState()));
  const records = ["ep-bound", "ep-twin"].map((id) => ({ ...one, id }));
  const idsWith = (object: ReturnType<typeof withState>) => {
    const store = createStore<GpuEndpoint>(claimIndexers(CLUSTER_UID));
    store.upsert(object);
    const [listed, indexed] = [knownEndpoints([object], CLUSTER_UID), endpointsKnownTo(store)].map((known) =>
      findOrphans(records, known).map(({ id }) => id),
    );
    expect(indexed).toEqual(listed);
    expect(unclaimedEndpoints(records, knownEndpoints([object], CLUSTER_UID)).map(({ id }) => id)).toEqual(listed);
    return listed;
  };
  expect(idsWith(withState())).toEqual(["ep-twin"]);
  expect(idsWith(withState("Accepted"))).toEqual(["ep-twin"]);
  expect(idsWith(withState("Intended"))).toEqual([]);
});

it("orphans are generated endpoints that no object owns, those with workers first", () => {
  const bound = endpointOf({}, { status: { conditions: [], endpointID: "ep-bound" } });
  const creating = endpointOf({}, { name: "new", uid: "aaaaaaaa-0000-0000-0000-000000000002" });
  const adopted = endpointOf(
    { adoption: { endpointID: "ep-adopted", mode: "Match" } },
    {
      name: "adopted",
      uid: "aaaaaaaa-0000-0000-0000-000000000003",
      status: { conditions: [], endpointID: "ep-adopted" },
    },
  );
  const objects = [bound, creating, adopted];
  const one = recordOf(desiredOf(bound));
  const zero = { ...one.scaling, min: 0, max: 0 };
  const records = [
    { ...one, id: "ep-bound" },
    { ...one, id: "ep-creating", appName: desiredOf(creating).appName },
    { ...one, id: "ep-adopted", appName: "other-aaaaaaaaaa" },
    { ...one, id: "ep-foreign", appName: "somebody-elses" },
    { ...one, id: "ep-stopped", appName: "old-bbbbbbbbbb", scaling: zero },
    { ...one, id: "ep-running", appName: "old-cccccccccc" },
  ];
  const found = findOrphans(records, knownEndpoints(objects, CLUSTER_UID));
  expect(found.map(({ id }) => id)).toEqual(["ep-running", "ep-stopped"]);
  expect(found.map(canRunWorkers)).toEqual([true, false]);
});
