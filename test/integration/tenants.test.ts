import { expect, it } from "vitest";
import { withClusterAccount } from "../support/cluster-account.ts";
import { manifest } from "../support/manifests.ts";
import {
  type AnyObject,
  API_KEY,
  closeWorldsAfterAll,
  condition,
  disposableWorld,
  eventually,
  waitForCondition,
} from "../support/world.ts";

closeWorldsAfterAll();

const ready = (object: AnyObject) => condition(object, "Ready");

it.concurrent("a namespace that a ClusterAccount does not allow is reported and sends nothing; after it is labeled, it continues", async () => {
  const world = await disposableWorld("tenant", { account: null });
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
  const world = await disposableWorld("private");
  await world.startOperator({ args: ["--allow-private-networks=false"] });
  const account = await waitForCondition(world, "Account", "default", "Reachable", "False");
  expect(condition(account, "Ready")).toMatchObject({ status: "False", reason: "AddressNotAllowed" });
  expect(condition(account, "Stalled")?.message).toContain("--allow-private-networks");
  expect(await world.audit()).toEqual([]);
});

it.concurrent("an Account reads the Secret of its own namespace only: one of that name elsewhere is not found", async () => {
  const other = await disposableWorld("keys");
  const world = await disposableWorld("nokey", { account: { apiKeySecretRef: { name: "elsewhere", key: "apiKey" } } });
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
