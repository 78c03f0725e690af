import { expect, it } from "vitest";
import { clusterAccountResource } from "../../../src/api/v1alpha1/kinds.ts";
import { namespaceResource } from "../../../src/kube/resource.ts";
import { manifest } from "../../support/manifests.ts";
import { type AnyObject, condition } from "../../support/world.ts";
import { type Stage, waitForCondition } from "../stage/stage.ts";
import { startedStage } from "../stage/started.ts";

const ready = (object: AnyObject) => condition(object, "Ready");

/** At the service of the stage, with the Secret of its namespace. */
async function clusterAccount({ kube, namespace }: Stage, spec: object): Promise<string> {
  const apiKeySecretRef = { namespace, name: "key", key: "apiKey" };
  await kube.create(
    clusterAccountResource,
    {},
    {
      apiVersion: "mooring.dev/v1alpha1",
      kind: "ClusterAccount",
      metadata: { name: "shared" },
      spec: { baseURL: "http://service.invalid", apiKeySecretRef, ...spec },
    },
  );
  return "shared";
}

it("a namespace that a ClusterAccount does not allow is reported and sends nothing; after it is labeled, it continues", async () => {
  const world = await startedStage({ account: null });
  const name = await clusterAccount(world, { allowedNamespaces: { matchLabels: { paid: "yes" } } });
  const accountRef = { kind: "ClusterAccount", name };
  await world.apply(manifest("endpoint", { accountRef }, "a"));
  await world.apply(manifest("hd", { accountRef }, "said"));
  for (const kind of ["GpuEndpoint", "SpeechJob"]) {
    const held = await world.eventually(`the ${kind} is told`, async () => {
      const object = await world.get(kind, kind === "GpuEndpoint" ? "a" : "said");
      return ready(object)?.reason === "NamespaceNotAllowed" ? object : undefined;
    });
    expect(ready(held)?.message).toBe(
      `ClusterAccount ${name} does not allow namespace ${world.namespace}: label the namespace: kubectl label namespace ${world.namespace} paid=yes --overwrite , or use another account`,
    );
  }
  expect((await world.audit()).filter(({ method }) => method !== "GET")).toEqual([]);
  await world.kube.mergePatch(namespaceResource, { name: world.namespace }, { metadata: { labels: { paid: "yes" } } });
  await waitForCondition(world, "GpuEndpoint", "a", "Ready");
  await waitForCondition(world, "SpeechJob", "said", "Ready");
});

it("a BillReport through a ClusterAccount shows no API key, until its administrator lets the namespace see it", async () => {
  const world = await startedStage({ account: null });
  await world.control("POST", "/__state/charges", [
    { time: "2026-01-10T00:00:00Z", amount: 20_000, productName: "Model A", category: "llm" },
  ]);
  const name = await clusterAccount(world, {});
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
  const report = await waitForCondition(world, "BillReport", "january", "Ready");
  expect(report.status).toMatchObject({ totals: { amount: "2" }, byKey: [{ amount: "2" }] });

  const keyIDs = ["another-key"];
  await world.kube.mergePatch(
    clusterAccountResource,
    { name },
    {
      spec: { spending: { reports: [{ ...spending.reports[0], keyIDs }] } },
    },
  );
  await world.eventually("the report covers the other key only", async () => {
    const { status } = await world.get("BillReport", "january");
    return status?.records === 0 && JSON.stringify(status.keyIDs) === JSON.stringify(keyIDs);
  });
});
