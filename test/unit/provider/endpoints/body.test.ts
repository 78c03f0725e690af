import { describe, expect, it } from "vitest";
import { createBody, hiddenValues, updateBody } from "../../../../src/provider/endpoints/body.ts";
import { createEndpointBody, updateEndpointBody } from "../../../../src/simulator/requests/endpoint.ts";
import { desiredOf, endpointOf } from "../../../support/endpoints.ts";

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
    expect(() => createEndpointBody.parse({ endpoint: createBody(desired) })).not.toThrow();
    expect(() => updateEndpointBody.parse(updateBody("ep-1", desired))).not.toThrow();
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

it("values that no error shows are those of Secrets and ConfigMaps", () => {
  const env = [
    { name: "TOKEN", value: "s3cr3t", secret: true },
    { name: "PLAIN", value: "x", secret: false },
  ];
  expect(hiddenValues(desiredOf(endpointOf(), env))).toEqual(["s3cr3t"]);
});
