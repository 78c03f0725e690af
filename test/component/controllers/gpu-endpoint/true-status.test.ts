import { describe, expect, it } from "vitest";
import { getCondition } from "../../../../src/api/v1alpha1/conditions.ts";
import { refusalBody } from "../../../../src/simulator/refusal.ts";
import { type ReconciledEndpoint, reconciledEndpoint } from "./world.ts";

const MINUTE_MS = 60_000;
const OTHER_IMAGE = "registry.example.com/echo:2";
const MISSING = ["Ready=False/RemoteMissing", "Stalled=True/RemoteMissing", "Synced=False/RemoteMissing"];
const SERVING = ["Ready=True/Serving", "Synced=True/InSync"];

async function servingEndpoint(...options: Parameters<typeof reconciledEndpoint>): Promise<ReconciledEndpoint> {
  const world = await reconciledEndpoint(...options);
  await world.reconcileFor(MINUTE_MS);
  await world.list();
  await world.reconcile();
  expect(world.conditions()).toEqual(SERVING);
  return world;
}

/** The endpoint is removed at the service, and lists prove it. */
async function provenGone(world: ReconciledEndpoint): Promise<void> {
  await changeRemote(world, { delete: true });
  for (let round = 0; round < 3; round++) {
    await world.list();
    await world.reconcileFor(MINUTE_MS);
  }
}

const refusal = (status: number, reason: string) => ({
  kind: "status" as const,
  status,
  body: refusalBody(status, reason, "the service's own words"),
  times: 100,
});
/** As a person does at the service. */
async function changeRemote({ bench, status }: ReconciledEndpoint, change: object): Promise<void> {
  expect((await bench.ask(`/__state/endpoints/${status().endpointID}`, change)).status).toBe(200);
}
const message = (world: ReconciledEndpoint, type: "Ready" | "Synced" | "Stalled") =>
  getCondition(world.status().conditions, type)?.message;

describe("Synced after a change of the spec that was never applied", () => {
  it("is Unknown while a Secret is missing", async () => {
    const world = await servingEndpoint();
    world.edit({ env: [{ name: "TOKEN", valueFrom: { secretKeyRef: { name: "none", key: "token" } } }] });
    await world.reconcile();
    expect(world.conditions()).toEqual([
      "Ready=False/SecretNotFound",
      "Stalled=True/SecretNotFound",
      "Synced=Unknown/SecretNotFound",
    ]);
    expect(message(world, "Synced")).toMatch(/^Generation 2 is not applied: Secret team\/none /);
    expect(world.waitsForReference()).toBe(true);
    world.edit({ env: [] });
    await world.reconcile();
    expect(world.waitsForReference()).toBe(false);
  });

  it("is False, with the drift, when the service refuses the update", async () => {
    const world = await servingEndpoint();
    await world.bench.fault({ operation: "updateEndpoint", ...refusal(400, "INVALID_IMAGE") });
    world.edit({ image: OTHER_IMAGE });
    for (let round = 0; round < 2; round++) {
      await world.reconcile();
      expect(world.conditions()).toEqual([
        "Ready=False/RemoteRefused",
        "Stalled=True/RemoteRefused",
        "Synced=False/Drifted",
      ]);
      expect(world.status()).toMatchObject({ appliedGeneration: 1, drift: [{ field: "image", desired: OTHER_IMAGE }] });
    }
  });

  it.each([
    ["the service limits the rate", { kind: "rateLimit" as const, times: 100 }, "RateLimited"],
    ["the service fails", refusal(500, "INTERNAL_ERROR"), "Retrying"],
  ])("is Unknown while %s", async (_name, fault, reason) => {
    const world = await servingEndpoint();
    await world.bench.fault({ operation: "getEndpoint", ...fault });
    world.edit({ image: OTHER_IMAGE });
    await world.reconcile();
    expect(world.conditions()).toContain(`Synced=Unknown/${reason}`);
  });

  it("is Unknown until a read shows the update", async () => {
    const world = await servingEndpoint();
    await world.bench.fault({ operation: "getEndpoint", ...refusal(500, "INTERNAL_ERROR"), skip: 1 });
    world.edit({ image: OTHER_IMAGE });
    await world.reconcile();
    expect(await world.bench.audit("?operation=updateEndpoint")).toHaveLength(1);
    expect(world.conditions()).toEqual([
      "Ready=Unknown/Progressing",
      "Reconciling=True/Progressing",
      "Synced=Unknown/Updating",
    ]);
  });

  it("does not stay Paused when the object is resumed and cannot be applied", async () => {
    const world = await servingEndpoint();
    world.annotate({ "mooring.dev/paused": "true" });
    await world.reconcile();
    expect(world.conditions()).toContain("Synced=Unknown/Paused");
    world.edit({ env: [{ name: "TOKEN", valueFrom: { secretKeyRef: { name: "none", key: "token" } } }] });
    world.annotate({ "mooring.dev/paused": "false" });
    await world.reconcile();
    expect(world.conditions()).toContain("Synced=Unknown/SecretNotFound");
  });

  it("stays as it is when the generation was applied, and a call fails", async () => {
    const world = await servingEndpoint();
    await world.bench.fault({ operation: "getEndpoint", ...refusal(500, "INTERNAL_ERROR") });
    world.annotate({ "mooring.dev/reconcile-requested-at": "1" });
    await world.reconcile();
    expect(world.conditions()).toEqual(["Ready=Unknown/Retrying", "Reconciling=True/Retrying", "Synced=True/InSync"]);
  });
});

describe("the status of an endpoint, while another process may hold the lease", () => {
  it("is not changed by a read that is not sent", async () => {
    const world = await servingEndpoint();
    const before = world.status();
    world.loseLease();
    world.annotate({ "mooring.dev/reconcile-requested-at": "1" });
    expect(await world.reconcile()).toBe("Error");
    expect(world.status()).toEqual(before);
  });

  it("is not changed by a deletion that is not sent", async () => {
    const world = await servingEndpoint();
    const before = world.status();
    world.loseLease();
    world.remove();
    expect(await world.reconcile()).toBe("Error");
    expect(world.status()).toEqual(before);
  });
});

it("an endpoint is not created when a restore of etcd is noticed after the create was planned, and then shows it", async () => {
  const world = await reconciledEndpoint();
  world.restoreEtcd();
  await world.reconcile();
  await world.reconcile();
  expect(await world.bench.audit("?operation=createEndpoint")).toEqual([]);
  expect(world.conditions()).toContain("Ready=False/EtcdRestored");
});

describe("a suspended endpoint", () => {
  it("is Ready with reason Suspended, and STATUS shows Suspended", async () => {
    const world = await servingEndpoint();
    expect(world.status()).toMatchObject({ state: "running" });
    world.edit({ suspend: true });
    await world.reconcileFor(MINUTE_MS);
    expect(world.conditions()).toEqual(["Ready=True/Suspended", "Stopped=True/Stopped", "Synced=True/InSync"]);
    expect(world.status()).toMatchObject({ state: "Suspended", remote: { status: "running" } });
    expect(message(world, "Ready")).toContain("serves no requests");
    expect(world.kstatus()).toBe("Current");
    world.edit({ suspend: false });
    await world.reconcileFor(MINUTE_MS);
    expect(world.conditions()).toEqual(expect.arrayContaining(["Ready=True/Serving", "Stopped=False/Resumed"]));
    expect(world.status()).toMatchObject({ state: "running" });
  });

  it("is Ready whatever word the service has for an endpoint without workers", async () => {
    const world = await servingEndpoint({}, { simulator: { zeroWorkersStatus: "hibernating" } });
    world.edit({ suspend: true });
    await world.reconcileFor(MINUTE_MS);
    expect(world.conditions()).toContain("Ready=True/Suspended");
    expect(world.status()).toMatchObject({ state: "Suspended", remote: { status: "hibernating" } });
  });
});

describe("drift that is only reported", () => {
  it.each([{ driftPolicy: "Report" }, { managementPolicy: "Observe" }])(
    "under %j: the status shows the image that runs, and one event names the field",
    async (policy) => {
      const world = await servingEndpoint();
      world.edit(policy);
      await world.reconcileFor(MINUTE_MS);
      world.events.length = 0;
      await changeRemote(world, { image: { image: OTHER_IMAGE } });
      for (let round = 0; round < 3; round++) {
        await world.list();
        await world.reconcile();
      }
      expect(world.conditions()).toEqual(["Ready=True/Serving", "Synced=False/Drifted"]);
      expect(world.status()).toMatchObject({ image: OTHER_IMAGE });
      const [name, value] = Object.entries(policy)[0] ?? [];
      expect(world.events).toEqual([
        `Warning Drifted: The remote endpoint differs from the spec in image; ${name} is ${value}, so Mooring does not change it`,
      ]);
    },
  );
});

describe("an endpoint that was removed at the service", () => {
  it("is not shown as serving from the first read that does not find it", async () => {
    const world = await servingEndpoint();
    await world.bench.fault({ operation: "getEndpoint", ...refusal(404, "RESOURCE_NOT_FOUND") });
    world.annotate({ "mooring.dev/reconcile-requested-at": "1" });
    for (let round = 0; round < 4; round++) {
      await world.reconcileFor(15_000);
      expect(world.conditions()).toEqual([
        "Ready=Unknown/RemoteMissing",
        "Reconciling=True/RemoteMissing",
        "Synced=Unknown/RemoteMissing",
      ]);
      expect(world.status()).toMatchObject({ state: "NotFound" });
      expect(world.status()).not.toHaveProperty("remote");
      expect(world.status()).not.toHaveProperty("workers");
    }
    await world.list(); // which shows it
    await world.reconcile();
    expect(world.conditions()).toEqual(SERVING);
  });

  it("is read when the list lacks it, so that no status is older than one list", async () => {
    const world = await servingEndpoint();
    await changeRemote(world, { delete: true });
    await world.list();
    await world.reconcile();
    expect(world.conditions()).toContain("Ready=Unknown/RemoteMissing");
  });

  it("that may not be created again is not in sync", async () => {
    const world = await servingEndpoint({ driftPolicy: "Report" });
    await provenGone(world);
    expect(world.conditions()).toEqual(MISSING);
  });

  it("before any read showed it is not in sync either", async () => {
    const world = await reconciledEndpoint({ driftPolicy: "Report" });
    await world.bench.fault({ operation: "getEndpoint", ...refusal(500, "INTERNAL_ERROR"), times: 1 });
    await world.reconcile();
    expect(world.conditions().join()).not.toContain("Synced");
    await provenGone(world);
    expect(world.conditions()).toEqual(MISSING);
  });

  it("shows nothing of the removed endpoint once another one is created", async () => {
    const world = await servingEndpoint({});
    const { endpointID, url } = world.status();
    await changeRemote(world, { delete: true });
    await world.list();
    await world.list();
    await world.bench.fault({ operation: "getEndpoint", ...refusal(500, "INTERNAL_ERROR"), skip: 1 });
    await world.reconcileFor(2 * MINUTE_MS);
    expect(await world.bench.audit("?operation=createEndpoint")).toHaveLength(2);
    expect(world.status().endpointID).not.toBe(endpointID);
    expect(world.status().url).not.toBe(url);
    expect(world.conditions()).not.toContain("Ready=True/Serving");
    expect(world.conditions()).not.toContain("Ready=Unknown/RemoteMissing");
  });
});

describe("a create whose response was lost", () => {
  it("of an endpoint that is created again is not repeated after a restart", async () => {
    const world = await servingEndpoint({});
    await changeRemote(world, { delete: true });
    await world.list();
    await world.list();
    await world.bench.fault({ operation: "createEndpoint", kind: "resetAfter" });
    while ((await world.bench.audit("?operation=createEndpoint")).length < 2) await world.reconcile();
    world.restart();
    await world.reconcileFor(3 * MINUTE_MS);
    expect(await world.bench.audit("?operation=createEndpoint")).toHaveLength(2);
    expect(world.conditions()).toEqual(SERVING);
  });

  it("is Reconciling until the endpoint serves, and Ready within seconds of that", async () => {
    const world = await reconciledEndpoint({}, { simulator: { bootDelayMs: 20_000 } });
    await world.bench.fault({ operation: "createEndpoint", kind: "resetAfter" });
    let readyAfterMs = 0;
    while (!world.conditions().includes("Ready=True/Serving") && readyAfterMs < 2 * MINUTE_MS) {
      if (readyAfterMs > 0) expect(world.conditions().join()).toContain("Reconciling=True");
      await world.reconcileFor(1_000);
      readyAfterMs += 1_000;
    }
    expect(readyAfterMs).toBeLessThan(30_000);
    expect(world.conditions()).toEqual(SERVING);
    expect(await world.bench.audit("?operation=createEndpoint")).toHaveLength(1);
  });
});
