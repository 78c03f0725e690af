/** Networks that nobody may connect to, such as the metadata services of clouds and the cluster's service network. */
import type { LookupFunction } from "node:net";
import { describe, expect, it } from "vitest";
import { clusterAccountSpecSchema } from "../../src/api/v1alpha1/account.ts";
import { judgeLiteral } from "../../src/base/guarded-connect.ts";
import { createAddresses } from "../../src/operator/addresses.ts";
import { parseOperatorConfig } from "../../src/operator/config.ts";
import { createTransport } from "../../src/provider/http/transport.ts";
import { manifest } from "../support/manifests.ts";
import { scriptedService } from "../support/service-account.ts";

const spec = clusterAccountSpecSchema.parse({
  ...manifest("account").spec,
  apiKeySecretRef: { name: "key", key: "apiKey", namespace: "keys" },
  results: { allowedPrivateNetworks: ["10.0.0.0/8", "169.254.0.0/16"] },
});

/** Why an address is refused; undefined: it is not. */
const refusal = (lookup: LookupFunction, address: string) =>
  new Promise<string | undefined>((resolve) => judgeLiteral(lookup, address, (error) => resolve(error?.message)));

/** Everything that the operator connects to for an account or a store. */
const TARGETS = ["an Account's service", "a ClusterAccount's service", "a store", "a result"] as const;
function lookupOf(target: (typeof TARGETS)[number], settings: Parameters<typeof createAddresses>[0]): LookupFunction {
  const addresses = createAddresses(settings);
  if (target === "a store") return addresses.store;
  if (target === "a result") return addresses.results("ClusterAccount", spec);
  return addresses.service(target === "an Account's service" ? "Account" : "ClusterAccount");
}

describe.each(TARGETS)("%s", (target) => {
  it.each([true, false])(
    "in a denied network is refused, whatever else is allowed (private networks: %s)",
    async (any) => {
      const lookup = lookupOf(target, {
        allowPrivateNetworks: any,
        deniedNetworks: ["10.96.0.0/12", "fd00:10::/32", "8.8.8.8/32"],
      });
      const denied = ["10.96.0.1", "10.111.255.255", "::ffff:10.96.0.1", "64:ff9b::10.96.0.1", "fd00:10::1", "8.8.8.8"];
      for (const address of denied) expect(await refusal(lookup, address)).toContain("--denied-networks");
      expect(await refusal(lookup, "9.9.9.9")).toBeUndefined();
    },
  );

  it("is refused by default at the metadata services of clouds", async () => {
    const { deniedNetworks } = parseOperatorConfig({}, {});
    const lookup = lookupOf(target, { allowPrivateNetworks: true, deniedNetworks });
    const metadata = [
      "169.254.169.254",
      "169.254.170.2",
      "100.100.100.200",
      "168.63.129.16",
      "fd00:ec2::254",
      "::ffff:169.254.169.254",
    ];
    for (const address of metadata) expect(await refusal(lookup, address)).toContain("is a denied address");
    for (const address of ["10.0.0.1", "127.0.0.1"]) expect(await refusal(lookup, address)).toBeUndefined();
  });
});

it("a name that resolves to a denied address is refused, without what it resolves to", async () => {
  const lookup = lookupOf("a ClusterAccount's service", {
    allowPrivateNetworks: true,
    deniedNetworks: ["127.0.0.0/8", "::1/128"],
  });
  const message = await new Promise<string | undefined>((resolve) =>
    lookup("localhost", { all: true }, (error) => resolve(error?.message)),
  );
  expect(message).toContain("localhost resolves to an address that is denied");
  expect(message).not.toMatch(/127\.|::1/);
});

it("nothing is sent to a denied address", async () => {
  const service = await scriptedService(() => ({ body: {} }));
  const lookup = lookupOf("a ClusterAccount's service", {
    allowPrivateNetworks: true,
    deniedNetworks: ["127.0.0.0/8"],
  });
  const transport = createTransport({ baseURL: service.url, apiKey: () => "sk-test", connect: { lookup } });
  await expect(transport.send({ operation: "getTaskResult", path: "/x" })).rejects.toMatchObject({
    kind: "Misconfigured",
    delivery: "NotSent",
  });
  await transport.close();
  expect(service.requests).toEqual([]);
});

it.each(["10.0.0.0", "10.0.0.0/33", "fd00::/129", "cluster.local", "10.0.0.0/x"])(
  "%s is no network: the operator does not start",
  (network) => {
    expect(() => parseOperatorConfig({ deniedNetworks: network }, {})).toThrow("--denied-networks");
  },
);

it("an empty list denies nothing", () => {
  expect(parseOperatorConfig({ deniedNetworks: "" }, {}).deniedNetworks).toEqual([]);
});
