import { describe, expect, it } from "vitest";
import { accountSpecSchema, clusterAccountSpecSchema } from "../../../../src/api/v1alpha1/account.ts";
import { resultLookup } from "../../../../src/controllers/account/result-lookup.ts";
import { manifest } from "../../../support/manifests.ts";

const results = { allowedPrivateNetworks: ["10.20.0.0/16"] };
const cluster = clusterAccountSpecSchema.parse(
  manifest("clusterAccount", { baseURL: "http://10.30.0.1:8080", results }).spec,
);

const refusalOf = (lookup: ReturnType<typeof resultLookup>, address: string) =>
  new Promise((resolve) => lookup(address, { all: true }, (error) => resolve(error?.message)));

describe("where results are copied from", () => {
  it("a ClusterAccount: from public addresses and the private networks that it allows", async () => {
    const lookup = resultLookup("ClusterAccount", cluster);
    expect(await refusalOf(lookup, "10.20.1.1")).toBeUndefined();
    expect(await refusalOf(lookup, "8.8.8.8")).toBeUndefined();
    expect(await refusalOf(lookup, "169.254.169.254")).toBe(
      "169.254.169.254 is not a public address: results are copied from public addresses only: add this network to results.allowedPrivateNetworks of the ClusterAccount, or start the operator with --allow-private-networks",
    );
  });

  it("not from the host of its own baseURL, unless it allows that too", async () => {
    expect(await refusalOf(resultLookup("ClusterAccount", cluster), "10.30.0.1")).toMatch(/is not a public address/);
  });

  it("a namespaced Account: from public addresses only, whatever its spec says", async () => {
    const spec = accountSpecSchema.parse(manifest("account", { results }).spec);
    expect(spec).not.toHaveProperty("results");
    for (const given of [spec, { ...spec, results }]) {
      expect(await refusalOf(resultLookup("Account", given), "10.20.1.1")).toMatch(
        /^10\.20\.1\.1 is not a public address: results of a namespaced Account are copied from public addresses only: use a ClusterAccount/,
      );
    }
  });
});
