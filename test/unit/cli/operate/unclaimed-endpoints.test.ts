import { expect, it } from "vitest";
import { unclaimedEndpoints } from "../../../../src/cli/operate/unclaimed-endpoints.ts";
import { knownEndpoints } from "../../../../src/controllers/gpu-endpoint/orphans.ts";
import { CLUSTER_UID, desiredOf, endpointOf, recordOf } from "../../../support/endpoints.ts";

const record = (id: string, appName: string, max = 2) => {
  const desired = desiredOf(endpointOf({ workers: { min: 0, max } }));
  return { ...recordOf(desired, { id, appName, name: id }) };
};

it("lists endpoints without a GpuEndpoint: generated ones first, then those with workers", () => {
  const bound = endpointOf({}, { status: { conditions: [], endpointID: "bound" } });
  const toAdopt = endpointOf({ adoption: { endpointID: "to-adopt", mode: "Match" } }, { name: "adopted", uid: "u2" });
  const named = endpointOf({ appName: "named" }, { name: "named", uid: "u3" });
  const creating = endpointOf({}, { name: "new", uid: "u4" });
  const records = [
    record("hand-made-off", "by-hand", 0),
    record("hand-made", "by-hand-2"),
    record("left-off", "echo-0a1b2c3d4e", 0),
    record("left", "echo-1a1b2c3d4e"),
    record("bound", "x"),
    record("to-adopt", "y"),
    record("other", "named"),
    record("fresh", desiredOf(creating).appName),
  ];
  const found = unclaimedEndpoints(records, knownEndpoints([bound, toAdopt, named, creating], CLUSTER_UID));
  expect(found.map(({ id, generated }) => [id, generated])).toEqual([
    ["left", true],
    ["left-off", true],
    ["hand-made", false],
    ["hand-made-off", false],
  ]);
});

it("shows what a person needs to know of one", () => {
  const status = { status: "failed", error: "IMAGE", message: "no such image" };
  const one = { ...record("e", "a"), status, createdAt: 1_767_225_600 };
  expect(unclaimedEndpoints([one], knownEndpoints([], CLUSTER_UID))).toEqual([
    {
      id: "e",
      name: "e",
      appName: "a",
      status: "failed (IMAGE)",
      workers: { min: 0, max: 2, total: 0 },
      url: "https://ep-1.example.com",
      createdAt: "2026-01-01T00:00:00Z",
      generated: false,
    },
  ]);
});
