import { expect, it } from "vitest";
import { clusterAccountResource } from "../../src/api/v1alpha1/kinds.ts";
import { withClusterAccount } from "../support/cluster-account.ts";
import { manifest } from "../support/manifests.ts";
import { type AnyObject, API_KEY, condition, createWorld, eventually, waitForCondition } from "../support/world.ts";

const ready = (object: AnyObject) => condition(object, "Ready");

it.concurrent("a namespace that a ClusterAccount does not allow is reported and sends nothing; after it is labeled, it continues", async () => {
  const world = await createWorld("tenant", { account: null });
  await withClusterAccount(world, { allowedNamespaces: { matchLabels: { paid: "yes" } } }, async (name) => {
    const accountRef = { kind: "ClusterAccount", name };
    await world.startOperator();
    await world.apply(manifest("endpoint", { accountRef }, "a"));
    await world.apply(manifest("hd", { accountRef }, "said"));
    for (const kind of ["GpuEndpoint", "SpeechJob"]) {
      const held = await eventually(`the ${kind} is told`, async () => {
        const object = await world.get(kind, kind === "GpuEndpoint" ? "a" : "said");
        return ready(object)?.reason === "NamespaceNotAllowed" ? object : undefined;
      });
      expect(ready(held)?.message).toBe(
        `ClusterAccount ${name} does not allow namespace ${world.namespace}: label the namespace as spec.allowedNamespaces asks, or use another account`,
      );
    }
    expect((await world.audit()).filter(({ method }) => method !== "GET")).toEqual([]);
    const namespaces = { group: "", version: "v1", plural: "namespaces", kind: "Namespace", namespaced: false };
    await world.kube.mergePatch(namespaces, { name: world.namespace }, { metadata: { labels: { paid: "yes" } } });
    await waitForCondition(world, "GpuEndpoint", "a", "Ready", "True", 100_000);
    await waitForCondition(world, "SpeechJob", "said", "Ready", "True", 100_000);
  });
});

it.concurrent("a namespaced Account at a private address is refused, and nothing is sent there", async () => {
  const world = await createWorld("private");
  await world.startOperator({ args: ["--allow-private-networks=false"] });
  const account = await waitForCondition(world, "Account", "default", "Reachable", "False");
  expect(condition(account, "Ready")).toMatchObject({ status: "False", reason: "AddressNotAllowed" });
  expect(condition(account, "Stalled")?.message).toContain("--allow-private-networks");
  expect(await world.audit()).toEqual([]);
});

it.concurrent("an Account reads the Secret of its own namespace only: one of that name elsewhere is not found", async () => {
  const other = await createWorld("keys");
  const world = await createWorld("nokey", { account: { apiKeySecretRef: { name: "elsewhere", key: "apiKey" } } });
  await other.apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "elsewhere" },
    stringData: { apiKey: API_KEY },
  });
  await world.startOperator();
  const account = await waitForCondition(world, "Account", "default", "Stalled");
  expect(condition(account, "Stalled")).toMatchObject({ reason: "SecretNotFound" });
  expect(condition(account, "Stalled")?.message).toContain(`${world.namespace}/elsewhere`);
  expect(await world.audit()).toEqual([]);
});

it.concurrent("a BillReport through a ClusterAccount shows no API key, until its administrator lets the namespace see it", async () => {
  const world = await createWorld("tenant-bills", { account: null });
  await world.control("POST", "/__state/charges", [
    { time: "2026-01-10T00:00:00Z", amount: 20_000, productName: "Model A", category: "llm" },
  ]);
  await withClusterAccount(world, {}, async (name) => {
    await world.startOperator();
    const accountRef = { kind: "ClusterAccount", name };
    const period = { startTime: "2026-01-01T00:00:00Z", endTime: "2026-02-01T00:00:00Z", lastDays: null };
    await world.apply(manifest("bill", { ...period, accountRef }, "january"));
    const stalled = await waitForCondition(world, "BillReport", "january", "Stalled");
    expect(condition(stalled, "Stalled")?.reason).toBe("NamespaceNotAllowed");
    expect(Object.keys(stalled.status ?? {}).sort()).toEqual(["conditions", "observedGeneration"]);
    const reads = await world.audit("listBills");
    expect(reads.filter(({ query }) => Number(query?.startTime) === Date.parse(period.startTime) / 1000)).toEqual([]);

    const spending = { reports: [{ namespaces: { matchLabels: { "kubernetes.io/metadata.name": world.namespace } } }] };
    await world.kube.mergePatch(clusterAccountResource, { name }, { spec: { spending } });
    const report = await waitForCondition(world, "BillReport", "january", "Ready", "True", 100_000);
    expect(report.status).toMatchObject({ totals: { amount: "2" }, byKey: [{ amount: "2" }] });

    const keyIDs = ["another-key"];
    await world.kube.mergePatch(
      clusterAccountResource,
      { name },
      {
        spec: { spending: { reports: [{ ...spending.reports[0], keyIDs }] } },
      },
    );
    await eventually(
      "the report covers the other key only",
      async () => {
        const { status } = await world.get("BillReport", "january");
        return status?.records === 0 && JSON.stringify(status.keyIDs) === JSON.stringify(keyIDs);
      },
      100_000,
    );
  });
});
