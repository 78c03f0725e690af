import { expect, it } from "vitest";
import { getCondition, needsUser } from "../../../../src/api/v1alpha1/conditions.ts";
import { OTHER_KEY, type ReconciledEndpoint, reconciledEndpoint } from "./world.ts";

const MINUTE_MS = 60_000;
const SHARED = "ClusterAccount/default";
const OWN = "Account/team/default";

const remote = async ({ bench }: ReconciledEndpoint) => JSON.parse((await bench.ask("/__state")).text).endpoints;
const ready = (world: ReconciledEndpoint) => getCondition(world.status().conditions, "Ready");

/** Serves with the ClusterAccount `default`, without an `accountRef`. */
async function boundEndpoint(spec = {}): Promise<ReconciledEndpoint> {
  const world = await reconciledEndpoint(spec, { account: SHARED });
  await world.reconcileFor(MINUTE_MS);
  expect(ready(world)).toMatchObject({ status: "True" });
  expect(world.status().account).toMatchObject({ kind: "ClusterAccount", name: "default" });
  return world;
}

it("stays with the account that it was created with when the namespace gets an Account default", async () => {
  const world = await boundEndpoint();
  const before = world.status();
  world.addAccount(OWN, OTHER_KEY);
  await world.reconcileFor(10 * MINUTE_MS);
  expect(ready(world)).toMatchObject({ status: "True" });
  expect(world.status()).toMatchObject({ account: before.account, endpointID: before.endpointID });
  expect(await remote(world)).toHaveLength(1);
});

it("is deleted at the account that it was created with, whatever default account there is now", async () => {
  const world = await boundEndpoint({ deletionPolicy: "Delete" });
  world.addAccount(OWN, OTHER_KEY);
  await world.reconcile();
  world.remove();
  await world.reconcileFor(5 * MINUTE_MS);
  expect(await remote(world)).toEqual([]);
  expect(world.finalizers()).toEqual([]);
});

it("waits for the account that it was created with, and says so, when that is gone", async () => {
  const world = await boundEndpoint();
  const { endpointID } = world.status();
  world.addAccount(OWN, OTHER_KEY);
  world.removeAccount(SHARED);
  await world.reconcileFor(MINUTE_MS);
  expect(ready(world)).toMatchObject({ reason: "AccountNotFound" });
  expect(needsUser(world.status())).toBe(true);
  expect(world.events.filter((event) => event.includes("AccountNotFound"))).toHaveLength(1);
  expect(ready(world)?.message).toContain("this object is bound to ClusterAccount default, which does not exist");
  expect(world.status().endpointID).toBe(endpointID);
  expect(await remote(world)).toHaveLength(1);
});

it("moves to the account that a user names before anything was created", async () => {
  const world = await reconciledEndpoint({ scaling: { min: 0, max: 100_000 } }, { account: SHARED });
  await world.reconcile();
  expect(world.status().account).toMatchObject({ kind: "ClusterAccount" });
  world.addAccount(OWN, OTHER_KEY);
  world.edit({ accountRef: { kind: "Account", name: "default" }, scaling: undefined });
  await world.reconcileFor(MINUTE_MS);
  expect(world.status().account).toMatchObject({ kind: "Account", name: "default" });
  expect(ready(world)).toMatchObject({ status: "True" });
});

it.each([
  ["is not there", (world: ReconciledEndpoint) => world.removeAccount(SHARED)],
  [
    "is not used, because the object is paused",
    (world: ReconciledEndpoint) => world.annotate({ "mooring.dev/paused": "true" }),
  ],
])("has its finalizer when deletionPolicy becomes ScaleToZero while the account %s", async (_what, stop) => {
  const world = await boundEndpoint({ deletionPolicy: "Retain" });
  expect(world.finalizers()).toEqual([]);
  stop(world);
  await world.reconcile();
  world.edit({ deletionPolicy: "ScaleToZero" });
  await world.reconcile();
  expect(world.finalizers()).toEqual(["mooring.dev/finalizer"]);
  world.edit({ deletionPolicy: "Retain" });
  await world.reconcile();
  expect(world.finalizers()).toEqual([]);
});
