import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  appNameOf,
  createBody,
  desiredEndpoint,
  referencesHash,
  updateBody,
} from "../../../../src/controllers/gpu-endpoint/desired.ts";
import { createEndpointParameters, updateEndpointRequest } from "../../../../src/provider/wire/endpoints-v1.ts";
import { CLUSTER_UID, desiredOf, endpointOf } from "../../../support/endpoints.ts";

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

const full = {
  command: "serve",
  registryAuthID: "auth-1",
  clusterID: "cluster-1",
  volumes: [
    { type: "network", id: "net-1", mountPath: "/models" },
    { type: "local", mountPath: "/scratch" },
  ],
};

describe("what is sent", () => {
  const env = [{ name: "TOKEN", value: "s3cr3t", secret: true }];

  it("in an update is every parameter, from the spec alone", () => {
    expect(updateBody("ep-1", desiredOf(endpointOf(full), env))).toEqual({
      id: "ep-1",
      name: "team-echo",
      workerConfig: { minNum: 1, maxNum: 2, freeTimeout: 60, maxConcurrent: 4, gpuNum: 1, requestTimeout: 120 },
      ports: [{ port: "8000" }],
      policy: { type: "queue", value: 30 },
      image: { image: "registry.example.com/models/echo:1.0", authId: "auth-1", command: "serve" },
      volumeMounts: [
        { type: "network", id: "net-1", mountPath: "/models" },
        { type: "local", size: 30, mountPath: "/scratch" },
      ],
      clusterID: "cluster-1",
      envs: [{ key: "TOKEN", value: "s3cr3t" }],
      healthy: { path: "/health" },
    });
  });

  it("in a create is also what only a create takes", () => {
    const desired = desiredOf(endpointOf(full), env);
    const { id: _id, ...shared } = updateBody("", desired);
    expect(createBody(desired)).toEqual({
      ...shared,
      appName: desired.appName,
      products: [{ id: "gpu-4090-24g" }],
      rootfsSize: 100,
    });
  });

  it.each([
    ["the smallest spec", {}],
    ["every optional field", full],
    ["a suspended endpoint", { suspend: true }],
  ])("fits the interface: %s", (_name, change) => {
    const desired = desiredOf(endpointOf(change), env);
    expect(() => createEndpointParameters.parse(createBody(desired))).not.toThrow();
    expect(() => updateEndpointRequest.parse(updateBody("ep-1", desired))).not.toThrow();
  });

  it("has no optional strings that the spec leaves out", () => {
    const body = createBody(desiredOf(endpointOf()));
    expect(body.image).toEqual({ image: "registry.example.com/models/echo:1.0" });
    expect(body).not.toHaveProperty("clusterID");
  });

  it("for a suspended endpoint are 0 of 0 workers, and all else as ever", () => {
    const { workerConfig, ...rest } = updateBody("ep-1", desiredOf(endpointOf({ suspend: true })));
    const { workerConfig: running, ...same } = updateBody("ep-1", desiredOf(endpointOf()));
    expect(workerConfig).toEqual({ ...running, minNum: 0, maxNum: 0 });
    expect(rest).toEqual(same);
  });
});

describe("the hash of values that are referred to", () => {
  const value = (name: string, text: string, secret = true) => ({ name, value: text, secret });
  const hash = (...env: ReturnType<typeof value>[]) => referencesHash(endpointOf(), env);

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
    expect(referencesHash(endpointOf({}, { uid: "a" }), env)).not.toBe(
      referencesHash(endpointOf({}, { uid: "b" }), env),
    );
  });
});
