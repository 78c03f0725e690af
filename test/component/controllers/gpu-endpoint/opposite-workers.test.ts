import { describe, expect, it } from "vitest";
import { getCondition } from "../../../../src/api/v1alpha1/conditions.ts";
import type { Change } from "../../../support/manifests.ts";
import { type ReconciledEndpoint, reconciledEndpoint } from "./world.ts";

const MINUTE_MS = 60_000;

async function settledEndpoint(spec: Change, ready: "Serving" | "Suspended"): Promise<ReconciledEndpoint> {
  const world = await reconciledEndpoint(spec);
  await world.reconcileFor(10 * MINUTE_MS);
  await world.list();
  await world.reconcile();
  expect(world.conditions()).toContain(`Ready=True/${ready}`);
  return world;
}

/** Another client sets the largest number of workers, and a list shows it. */
async function scaleRemote(world: ReconciledEndpoint, maxNum: number): Promise<void> {
  const { endpointID } = world.status();
  const { status } = await world.bench.ask(`/__state/endpoints/${endpointID}`, { workerConfig: { minNum: 0, maxNum } });
  expect(status).toBe(200);
  await world.list();
  await world.reconcile();
}

const message = (world: ReconciledEndpoint, type: "Ready" | "Stopped") =>
  getCondition(world.status().conditions, type)?.message;

describe("a suspended endpoint", () => {
  it("to which another client keeps giving workers is not Ready until a user requests a reconcile", async () => {
    const world = await settledEndpoint({ suspend: true }, "Suspended");
    for (let round = 0; round < 3; round++) {
      await scaleRemote(world, 6);
      await world.reconcileFor(MINUTE_MS);
      expect(world.conditions()).toEqual(["Ready=True/Suspended", "Stopped=True/Stopped", "Synced=True/InSync"]);
    }
    await scaleRemote(world, 6);
    const fought = ["Ready=False/DriftFight", "Stopped=False/Suspended", "Synced=False/DriftFight"];
    expect(world.conditions()).toEqual(fought);
    // ignoreDrift has no effect on the workers of a suspended endpoint.
    expect(message(world, "Ready")).toMatch(/keeps reverting workers\.max; Mooring stopped .* request a reconcile$/);
    expect(message(world, "Stopped")).toBe("The remote endpoint has no workers and can start new ones");

    world.restart();
    await world.reconcileFor(MINUTE_MS);
    expect(world.conditions()).toEqual(fought);

    world.annotate({ "mooring.dev/reconcile-requested-at": "1" });
    await world.reconcile();
    expect(world.conditions()).toEqual(["Ready=True/Suspended", "Stopped=True/Stopped", "Synced=True/InSync"]);
  });

  it("whose update the service accepts and does not apply is not Ready, and Reconciling while it settles", async () => {
    const world = await settledEndpoint({}, "Serving");
    await world.bench.configure({ updateIgnores: ["workerConfig"] });
    world.edit({ suspend: true });
    await world.reconcile();
    expect(world.conditions()).toEqual([
      "Ready=False/Drifted",
      "Reconciling=True/Progressing",
      "Stopped=False/Suspended",
      "Synced=False/Drifted",
    ]);
    expect(world.kstatus()).toBe("InProgress");
  });

  it.each([{ driftPolicy: "Report" }, { managementPolicy: "Observe" }])(
    "under %j is not Ready while another client gives it workers",
    async (policy) => {
      const world = await settledEndpoint({ suspend: true }, "Suspended");
      world.edit(policy);
      await world.reconcile();
      await scaleRemote(world, 6);
      expect(world.conditions()).toEqual(["Ready=False/Drifted", "Stopped=False/Suspended", "Synced=False/Drifted"]);
    },
  );
});

it("an endpoint from which another client takes all workers is not Ready", async () => {
  const world = await settledEndpoint({ driftPolicy: "Report", workers: { min: 0, max: 2 } }, "Serving");
  await scaleRemote(world, 0);
  expect(world.conditions()).toEqual(["Ready=False/Drifted", "Synced=False/Drifted"]);
  await scaleRemote(world, 7);
  expect(world.conditions()).toEqual(["Ready=True/Serving", "Synced=False/Drifted"]);
});
