import { describe, expect, it } from "vitest";
import { type ReconciledEndpoint, reconciledEndpoint } from "./world.ts";

type Change = { name: string; act: (world: ReconciledEndpoint) => void };

const PAUSE: Change = { name: "is paused", act: (world) => world.annotate({ "mooring.dev/paused": "true" }) };
const EDIT: Change = { name: "has another spec", act: (world) => world.edit({ image: "another" }) };
const REMOVE: Change = { name: "is deleted", act: (world) => world.remove() };

const writes = async ({ bench }: ReconciledEndpoint, operation: string) =>
  (await bench.audit(`?operation=${operation}`)).length;

describe("a request that waits for its turn is not sent when its object by then", () => {
  it.each([PAUSE, EDIT, REMOVE])("$name: a create", async ({ act }) => {
    const world = await reconciledEndpoint();
    await world.list();
    world.atNextCall(() => act(world));
    await world.reconcile();
    expect(await writes(world, "createEndpoint")).toBe(0);
  });

  it.each([PAUSE, EDIT, REMOVE])("$name: an update", async ({ act }) => {
    const world = await reconciledEndpoint();
    await world.reconcileFor(10_000);
    world.edit({ image: "next" });
    world.atNextCall(() => act(world));
    expect([await world.reconcile(), await writes(world, "updateEndpoint")]).toEqual([2_000, 0]);
  });

  it.each(["ScaleToZero", "Delete"] as const)("has another deletion policy than %s", async (deletionPolicy) => {
    const world = await reconciledEndpoint({ deletionPolicy });
    await world.reconcileFor(10_000);
    world.remove();
    world.atNextCall(() => world.annotate({ "mooring.dev/deletion-policy": "Retain" }));
    await world.reconcileFor(10_000);
    expect([await writes(world, "updateEndpoint"), await writes(world, "deleteEndpoint")]).toEqual([0, 0]);
    expect(world.finalizers()).toEqual([]);
  });
});
