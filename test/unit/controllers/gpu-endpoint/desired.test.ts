import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  appNameOf,
  desiredEndpoint,
  desiredHash,
  referencesHash,
  showsReferences,
} from "../../../../src/controllers/gpu-endpoint/desired.ts";
import { keyedHashOf } from "../../../../src/controllers/hash.ts";
import { CLUSTER_UID, desiredOf, endpointOf } from "../../../support/endpoints.ts";
import type { Change } from "../../../support/manifests.ts";

describe("the app name", () => {
  it("is the same whenever it is asked for, and tells objects and clusters apart", () => {
    const endpoint = endpointOf();
    const name = appNameOf(endpoint, CLUSTER_UID);
    expect(appNameOf(endpointOf({ image: "other:1" }, { generation: 9, resourceVersion: "99" }), CLUSTER_UID)).toBe(
      name,
    );
    expect(appNameOf(endpointOf({}, { uid: "another" }), CLUSTER_UID)).not.toBe(name);
    expect(appNameOf(endpoint, "another cluster")).not.toBe(name);
    expect(name).toMatch(/^echo-[0-9a-f]{10}$/);
  });

  it("is what the user chose", () => {
    expect(appNameOf(endpointOf({ appName: "chosen" }), CLUSTER_UID)).toBe("chosen");
  });

  it("is a DNS label of at most 63 characters for every name that Kubernetes allows", () => {
    const label = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
    const subdomain = fc.array(label, { minLength: 1, maxLength: 6 }).map((labels) => labels.join(".").slice(0, 253));
    fc.assert(
      fc.property(subdomain, fc.uuid(), (name, uid) => {
        const appName = appNameOf(endpointOf({}, { name, uid }), CLUSTER_UID);
        expect(appName).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);
        expect(appName.length).toBeLessThanOrEqual(63);
      }),
    );
  });
});

describe("the remote's name", () => {
  it.each([
    ["namespace and name", {}, { name: "echo" }, "team-echo"],
    ["cut to 220 characters", {}, { name: "x".repeat(253) }, `team-${"x".repeat(215)}`],
    ["what the user chose", { name: "Echo (test)" }, {}, "Echo (test)"],
  ])("is %s", (_name, change, metadata, expected) => {
    expect(desiredEndpoint(endpointOf(change, metadata), CLUSTER_UID, []).name).toBe(expected);
  });
});

describe("the hash of values that are referred to", () => {
  const value = (name: string, text: string, secret = true) => ({ name, value: text, secret });
  const account = (apiKey: string) => ({
    keyVersion: () => `version-of-${apiKey}`,
    digest: (data: unknown) => keyedHashOf(data, apiKey),
  });
  const ours = account("sk-ours");
  const hash = (...env: ReturnType<typeof value>[]) => referencesHash(endpointOf(), env, ours);

  it("moves with them, and with nothing else", () => {
    const before = hash(value("TOKEN", "s3cr3t"), value("PLAIN", "x", false));
    expect(hash(value("TOKEN", "s3cr3t"), value("PLAIN", "y", false))).toBe(before);
    expect(hash(value("TOKEN", "other"))).not.toBe(before);
    expect(hash(value("RENAMED", "s3cr3t"))).not.toBe(before);
    expect(before).not.toContain("s3cr3t");
  });

  it("is none where nothing is referred to", () => {
    expect(hash(value("PLAIN", "x", false))).toBeUndefined();
  });

  it("does not show that two objects hold the same value", () => {
    const env = [value("TOKEN", "s3cr3t")];
    expect(referencesHash(endpointOf({}, { uid: "a" }), env, ours)).not.toBe(
      referencesHash(endpointOf({}, { uid: "b" }), env, ours),
    );
  });
});

describe("a hash of values in the status", () => {
  const env = (text: string) => [{ name: "TOKEN", value: text, secret: true }];
  const account = (apiKey: string) => ({
    keyVersion: () => `version-of-${apiKey}`,
    digest: (data: unknown) => keyedHashOf(data, apiKey),
  });
  const hash = (text: string, apiKey: string) => referencesHash(endpointOf(), env(text), account(apiKey));

  it("cannot be made without the API key", () => {
    const digest = (text: string, apiKey: string) => hash(text, apiKey)?.split(":")[1];
    expect(digest("s3cr3t", "sk-ours")).not.toBe(digest("s3cr3t", "sk-other"));
    expect(digest("s3cr3t", "sk-ours")).toMatch(/^[0-9a-f]{16}$/);
  });

  it.each<{ name: string; shown: string | undefined; present: string | undefined; same: boolean }>([
    { name: "none", shown: undefined, present: hash("a", "sk-1"), same: true },
    { name: "that of the same values", shown: hash("a", "sk-1"), present: hash("a", "sk-1"), same: true },
    { name: "that of other values", shown: hash("a", "sk-1"), present: hash("b", "sk-1"), same: false },
    { name: "that of values that are not referred to", shown: hash("a", "sk-1"), present: undefined, same: false },
    { name: "made with a former API key", shown: hash("a", "sk-1"), present: hash("a", "sk-2"), same: true },
  ])("that is $name: the present values count as applied: $same", ({ shown, present, same }) => {
    expect(showsReferences(shown, present)).toBe(same);
  });
});

describe("the hash of a desired endpoint", () => {
  const variable = (secret: boolean) => [{ name: "TOKEN", value: "s3cr3t", secret }];
  const hash = (change: Change, secret = true) => desiredHash(desiredOf(endpointOf(change), variable(secret)));
  const volume = { type: "local", mountPath: "/scratch" };

  it.each<{ what: string; change: Change }>([
    { what: "the app name, which an update does not send", change: { appName: "chosen" } },
    { what: "the products, which an update does not send", change: { products: [{ id: "other" }] } },
    { what: "the size of the system disk, which an update does not send", change: { rootfsSizeGB: 50 } },
    { what: "a policy of Mooring's own", change: { driftPolicy: "Report" } },
  ])("stays the same for $what", ({ change }) => {
    expect(hash(change)).toBe(hash({}));
  });

  it("stays the same for the source of a value and for a default that is spelled out", () => {
    expect(hash({}, false)).toBe(hash({}, true));
    expect(hash({ volumes: [{ ...volume, sizeGB: 30 }] })).toBe(hash({ volumes: [volume] }));
  });

  it.each<{ what: string; change: Change }>([
    { what: "the image", change: { image: "other:1" } },
    { what: "suspend", change: { suspend: true } },
    { what: "the volumes", change: { volumes: [volume] } },
    { what: "the health check", change: { healthCheck: { path: "/other" } } },
  ])("changes with $what", ({ change }) => {
    expect(hash(change)).not.toBe(hash({}));
  });
});
