import { expect, it } from "vitest";
import type { Account } from "../../../../../src/api/v1alpha1/account.ts";
import {
  accountResource,
  artifactStoreResource,
  clusterAccountResource,
} from "../../../../../src/api/v1alpha1/kinds.ts";
import { withManifests } from "../../../../../src/cli/use/plan/with-manifests.ts";
import type { KubeClient } from "../../../../../src/kube/client.ts";
import { KubeError } from "../../../../../src/kube/errors.ts";
import { secretResource } from "../../../../../src/kube/resource.ts";
import { manifest } from "../../../../support/manifests.ts";

const inCluster = { metadata: { name: "there" }, spec: { from: "cluster" } };
const kube = {
  async get(_resource: unknown, { name }: { name?: string }) {
    if (name === "there") return inCluster;
    throw new KubeError("not found", { status: 404, reason: "NotFound" });
  },
} as unknown as KubeClient;

const after = withManifests(
  kube,
  [
    null,
    "text",
    manifest("account", {}, "new"),
    manifest("account", {}, "there"),
    { ...manifest("account", { baseURL: "ftp://nowhere" }, "wrong") },
    { ...manifest("clusterAccount", {}, "shared"), metadata: { name: "shared" } },
    { apiVersion: "v1", kind: "Secret", metadata: { name: "key", namespace: "vault" }, stringData: { apiKey: "k" } },
  ],
  "team",
);
const at = (name: string, namespace = "team") => ({ namespace, name });

it("reads what the manifests make, with defaults, and what the cluster has from the cluster", async () => {
  const account = await after.get<Account>(accountResource, at("new"));
  expect(account.spec).toMatchObject({ billing: { interval: "1h" } });
  expect(await after.get(accountResource, at("there"))).toBe(inCluster);
  expect(await after.get(clusterAccountResource, { name: "shared" })).toMatchObject({ metadata: { name: "shared" } });
  expect(await after.get(secretResource, at("key", "vault"))).toMatchObject({ data: { apiKey: "aw==" } });
});

it.each([
  { given: "no manifest makes", read: () => after.get(artifactStoreResource, at("new")) },
  { given: "is in another namespace", read: () => after.get(secretResource, at("key")) },
  { given: "the API server would refuse", read: () => after.get(accountResource, at("wrong")) },
])("does not find what $given", async ({ read }) => {
  await expect(read()).rejects.toMatchObject({ status: 404 });
});
