import { describe, expect, it } from "vitest";
import type { FaultInput } from "../../../../src/simulator/faults.ts";
import type { Change } from "../../../support/manifests.ts";
import { type ReconciledEndpoint, reconciledEndpoint } from "./world.ts";

const MINUTES_MS = 5 * 60_000;

/** A create, after which the object is gone although it has the finalizer. */
async function departed(spec: Change, faults: FaultInput[]): Promise<ReconciledEndpoint> {
  const world = await reconciledEndpoint(spec);
  for (const fault of faults) await world.bench.fault(fault);
  world.departBeforeStatus();
  expect(await world.reconcile()).toBe("Error");
  expect(await scales(world)).toEqual(["1/2"]);
  return world;
}

async function scales({ bench }: ReconciledEndpoint): Promise<string[]> {
  const { endpoints } = (await (await fetch(`${bench.url}/__state`)).json()) as {
    endpoints: { parameters: { workerConfig: { minNum: number; maxNum: number } } }[];
  };
  return endpoints.map(({ parameters: { workerConfig } }) => `${workerConfig.minNum}/${workerConfig.maxNum}`);
}

describe("an object that is gone before its status shows the new endpoint", () => {
  it.each<{ create: string; spec?: Change; faults: FaultInput[]; leaves: string }>([
    { create: "answered", faults: [], leaves: "0/0" },
    { create: "unanswered", faults: [{ operation: "createEndpoint", kind: "resetAfter" }], leaves: "0/0" },
    { create: "answered, the read of the endpoint fails", faults: [failing("getEndpoint")], leaves: "0/0" },
    { create: "answered, the update fails", faults: [failing("updateEndpoint")], leaves: "0/0" },
    { create: "answered, deletionPolicy Retain", spec: { deletionPolicy: "Retain" }, faults: [], leaves: "1/2" },
  ])("$create: leaves $leaves workers, and nothing to do", async ({ spec = {}, faults, leaves }) => {
    const world = await departed(spec, faults);
    await world.reconcileFor(MINUTES_MS);
    expect(await scales(world)).toEqual([leaves]);
    expect(await world.reconcile()).toBeUndefined();
    const scaled = world.events.filter((event) => event.startsWith("Normal ScaledToZero"));
    expect(scaled).toHaveLength(leaves === "0/0" ? 1 : 0);
  });
});

function failing(operation: string): FaultInput {
  return { operation, kind: "gatewayPage", times: 3 };
}
