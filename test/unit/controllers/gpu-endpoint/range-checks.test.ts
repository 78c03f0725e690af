import { describe, expect, it } from "vitest";
import { outOfRange } from "../../../../src/controllers/gpu-endpoint/desired.ts";
import type { EndpointLimits } from "../../../../src/provider/endpoints/limits.ts";
import { desiredOf, endpointOf, LIMITS, limitsOf } from "../../../support/endpoints.ts";
import type { Change } from "../../../support/manifests.ts";

const check = (change: Change, limits: EndpointLimits = LIMITS, operation: "create" | "update" = "create") => {
  const endpoint = endpointOf(change);
  const found = outOfRange(desiredOf(endpoint), limits, endpoint.spec.suspend, operation);
  for (const { path, problem } of found) expect(problem.startsWith(`${path} is `)).toBe(true);
  return found.map(({ problem }) => problem);
};
const local = (sizeGB?: number) => ({
  volumes: [
    { type: "network", id: "net-1", mountPath: "/models" },
    { type: "local", mountPath: "/scratch", ...(sizeGB === undefined ? {} : { sizeGB }) },
  ],
  clusterID: "cluster-1",
});

describe("the account's limits", () => {
  it.each<[string, Change, string]>([
    ["workers.max", { workers: { max: 11 } }, "workers.max is 11, allowed is 0 to 10"],
    [
      "workers.idleTimeoutSeconds",
      { workers: { idleTimeoutSeconds: 601 } },
      "workers.idleTimeoutSeconds is 601, allowed is 1 to 600",
    ],
    [
      "workers.maxConcurrency",
      { workers: { maxConcurrency: 101 } },
      "workers.maxConcurrency is 101, allowed is 1 to 100",
    ],
    ["workers.gpus", { workers: { gpus: 9 } }, "workers.gpus is 9, allowed is 1 to 8"],
    [
      "workers.requestTimeoutSeconds",
      { workers: { requestTimeoutSeconds: 1801 } },
      "workers.requestTimeoutSeconds is 1801, allowed is 1 to 1800",
    ],
    ["policy.value of a queue", { policy: { value: 301 } }, "policy.value is 301, allowed is 1 to 300"],
    [
      "policy.value of a concurrency",
      { policy: { type: "concurrency", value: 51 } },
      "policy.value is 51, allowed is 1 to 50",
    ],
    ["rootfsSizeGB", { rootfsSizeGB: 9 }, "rootfsSizeGB is 9, allowed is 10 to 100"],
    ["the size of a local volume", local(40), "volumes[1].sizeGB is 40, allowed is 30 to 30"],
  ])("name %s", (_field, change, expected) => {
    expect(check(change)).toEqual([expected]);
  });

  it("name workers.min", () => {
    expect(check({ workers: { min: 1 } }, limitsOf({ minWorkerNum: 2 }))).toEqual([
      "workers.min is 1, allowed is 2 to 10",
    ]);
  });

  it.each<[string, Change]>([
    [
      "the lowest",
      {
        workers: { min: 0, idleTimeoutSeconds: 1, maxConcurrency: 1, requestTimeoutSeconds: 1 },
        policy: { value: 1 },
        rootfsSizeGB: 10,
      },
    ],
    [
      "the highest",
      {
        workers: { max: 10, idleTimeoutSeconds: 600, maxConcurrency: 100, gpus: 8, requestTimeoutSeconds: 1800 },
        policy: { value: 300 },
      },
    ],
    ["a local volume of the usual size", local()],
  ])("allow %s", (_name, change) => {
    expect(check(change)).toEqual([]);
  });

  it("do not hold the system disk against an update, which does not send it", () => {
    expect(check({ rootfsSizeGB: 9, workers: { gpus: 9 } }, LIMITS, "update")).toEqual([
      "workers.gpus is 9, allowed is 1 to 8",
    ]);
  });

  it("are told all at once", () => {
    expect(check({ workers: { max: 11, gpus: 9 }, rootfsSizeGB: 9 })).toHaveLength(3);
  });

  it("do not hold the workers of a suspended endpoint, and hold the rest", () => {
    expect(check({ suspend: true, workers: { max: 11, gpus: 9 } }, limitsOf({ minWorkerNum: 1 }))).toEqual([
      "workers.gpus is 9, allowed is 1 to 8",
    ]);
  });

  it.each([
    ["the account does not show any", { cudaVersionList: [] }, []],
    ["only the upper is shown", { cudaVersionList: [], maxWorkerNum: 10 }, ["workers.max is 11, allowed is any to 10"]],
  ])("hold as far as they are known: %s", (_name, limits, expected) => {
    expect(check({ workers: { max: 11 } }, limits)).toEqual(expected);
  });
});
