import { expect, it } from "vitest";
import { manifest } from "../../support/manifests.ts";
import { condition } from "../../support/world.ts";
import { waitForCondition } from "../stage/stage.ts";
import { startedStage } from "../stage/started.ts";

const FINALIZER = "mooring.dev/finalizer";

it("an account in use does not vanish: it names who uses it, serves them to the end, and goes with the last one", async () => {
  const world = await startedStage();
  await waitForCondition(world, "Account", "default", "Ready");
  expect((await world.get("Account", "default")).metadata.finalizers ?? []).not.toContain(FINALIZER);

  await world.apply(manifest("endpoint", {}, "a"));
  await world.apply(manifest("hd", {}, "said"));
  await waitForCondition(world, "GpuEndpoint", "a", "Ready");
  await waitForCondition(world, "SpeechJob", "said", "Ready"); // finished: it needs the account no more
  await world.eventually("the account is protected", async () =>
    (await world.get("Account", "default")).metadata.finalizers?.includes(FINALIZER),
  );

  await world.remove("Account", "default");
  const held = await world.eventually("the account says who uses it", async () => {
    const account = await world.get("Account", "default");
    return condition(account, "Ready")?.reason === "InUse" ? account : undefined;
  });
  expect(condition(held, "Ready")).toMatchObject({
    status: "False",
    message: `Deletion waits for what still needs the account (1): GpuEndpoint ${world.namespace}/a: delete it first`,
  });

  await world.remove("GpuEndpoint", "a");
  await world.eventually("the endpoint is gone", async () => (await world.list("GpuEndpoint")).length === 0);
  await world.eventually("the account is gone", async () => (await world.list("Account")).length === 0);
  const [endpoint] = (await world.state()).endpoints;
  expect(endpoint).toMatchObject({ parameters: { workerConfig: { minNum: 0, maxNum: 0 } } });
});

it("no endpoint of the account is shown any more, as with another team's key: none is made again unasked", async () => {
  const world = await startedStage({ account: { endpoints: { syncInterval: "1s" } } });
  const names = ["a", "b", "c"];
  for (const name of names) await world.apply(manifest("endpoint", {}, name));
  const ids = new Map<string, unknown>();
  for (const name of names) {
    ids.set(name, (await waitForCondition(world, "GpuEndpoint", name, "Ready")).status?.endpointID);
  }
  for (const id of ids.values()) await world.control("POST", `/__state/endpoints/${id}`, { delete: true });
  for (const name of names) {
    const stalled = await waitForCondition(world, "GpuEndpoint", name, "Stalled");
    expect(condition(stalled, "Stalled")).toMatchObject({
      reason: "RemoteMissing",
      message: expect.stringMatching(/^none of the 3 endpoints of this account is shown/),
    });
  }
  expect(await world.audit("createEndpoint")).toHaveLength(3);

  const asked = { metadata: { annotations: { "mooring.dev/reconcile-requested-at": "they are gone indeed" } } };
  await world.patch("GpuEndpoint", "b", asked);
  await waitForCondition(world, "GpuEndpoint", "b", "Ready");
  expect(await world.audit("createEndpoint")).toHaveLength(4);
});

it("every kind handles a request of `flux reconcile`", async () => {
  const world = await startedStage();
  await world.apply(manifest("endpoint", {}, "a"));
  await world.apply(manifest("hd", {}, "said"));
  await world.apply(manifest("bill", {}, "month"));
  await world.apply(manifest("volumeStore", {}, "results"));
  const objects = [
    { kind: "Account", name: "default" },
    { kind: "GpuEndpoint", name: "a" },
    { kind: "SpeechJob", name: "said" },
    { kind: "BillReport", name: "month" },
    { kind: "ArtifactStore", name: "results" },
  ];
  for (const { kind, name } of objects) {
    await world.patch(kind, name, { metadata: { annotations: { "reconcile.fluxcd.io/requestedAt": `${name}-now` } } });
  }
  for (const { kind, name } of objects) {
    await world.eventually(`${kind} ${name} shows the handled request`, async () => {
      return (await world.get(kind, name)).status?.["lastHandledReconcileAt"] === `${name}-now`;
    });
  }
});

it("an object that is created right after a change of the base URL is not bound to the former one", async () => {
  const world = await startedStage();
  const { spec } = await waitForCondition(world, "Account", "default", "Ready");
  await world.patch("Account", "default", { spec: { baseURL: "http://elsewhere.invalid" } });
  await world.apply(manifest("endpoint", {}, "a"));
  const waiting = await waitForCondition(world, "GpuEndpoint", "a", "Ready", "False");
  expect(condition(waiting, "Ready")?.reason).toBe("AccountNotReady");
  expect(waiting.status?.["account"]).toBeUndefined();
  expect(await world.audit("createEndpoint")).toEqual([]);

  await world.patch("Account", "default", { spec: { baseURL: spec?.["baseURL"] } });
  await waitForCondition(world, "GpuEndpoint", "a", "Ready");
});
