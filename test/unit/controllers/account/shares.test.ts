import { describe, expect, it } from "vitest";
import { type ClusterAccountSpec, clusterAccountSpecSchema } from "../../../../src/api/v1alpha1/account.ts";
import { gpuEndpointSpecSchema } from "../../../../src/api/v1alpha1/gpu-endpoint.ts";
import {
  forbiddenCost,
  forbiddenInEndpoint,
  forbiddenInJob,
  forbiddenRegion,
} from "../../../../src/controllers/account/share-rules.ts";
import { poolsByNamespace, shareFaults, shareOf } from "../../../../src/controllers/account/shares.ts";
import type { Job } from "../../../../src/controllers/jobs/types.ts";
import { type Change, manifest } from "../../../support/manifests.ts";

const selector = (team: string) => ({ matchLabels: { team } });
const namespaces = new Map([
  ["film-a", { team: "film" }],
  ["film-b", { team: "film" }],
  ["voice", { team: "voice" }],
  ["other", {}],
]);

function accountWith(shares: Change[], change: Change = {}): ClusterAccountSpec {
  return clusterAccountSpecSchema.parse(manifest("clusterAccount", { shares, ...change }).spec);
}
const share = (change: Change = {}) => {
  const [one] = accountWith([{ name: "film", namespaceSelector: selector("film"), ...change }]).shares ?? [];
  if (one === undefined) throw new Error("no share");
  return one;
};
const specOf = (change: Change) => gpuEndpointSpecSchema.parse(manifest("endpoint", change).spec);
const job = (variant: "turbo" | "hd" | "image", change: Change = {}): Job =>
  manifest(variant, change, "said") as unknown as Job;

describe("the share of a namespace", () => {
  const { shares } = accountWith([
    { name: "film", namespaceSelector: selector("film") },
    { name: "all-teams", namespaceSelector: { matchExpressions: [{ key: "team", operator: "Exists" }] } },
  ]);
  const of = (namespace: string) =>
    shareOf(shares, { account: "ClusterAccount shared", namespace, labels: namespaces.get(namespace) ?? {} });

  it.each([
    ["film-a", "film"],
    ["voice", "all-teams"],
  ])("%s: the first share that selects it, %s", (namespace, name) => {
    expect(of(namespace)).toMatchObject({ kind: "Share", share: { name } });
  });

  it("a namespace that none selects gets nothing, and is told what to do", () => {
    expect(of("other")).toEqual({
      kind: "None",
      message:
        "ClusterAccount shared is divided into shares, and none selects namespace other: label the namespace as a share asks for, or add a share (spec.shares)",
    });
  });

  it("an account without shares is whole", () => {
    expect(shareOf(undefined, { account: "a", namespace: "other", labels: {} })).toEqual({ kind: "Whole" });
  });

  it("per Namespace, each namespace has limits of its own", () => {
    const each = accountWith([{ name: "film", namespaceSelector: selector("film"), per: "Namespace" }]).shares ?? [];
    const pools = poolsByNamespace(each, namespaces);
    expect([...pools.values()].map((pool) => pool.namespaces)).toEqual([["film-a"], ["film-b"]]);
    const together = poolsByNamespace(shares ?? [], namespaces);
    expect(together.get("film-a")?.namespaces).toEqual(["film-a", "film-b"]);
    expect(together.get("film-a")).toBe(together.get("film-b"));
  });
});

describe("the condition SharesValid", () => {
  it("says nothing of shares that fit", () => {
    const spec = accountWith([{ name: "film", namespaceSelector: selector("film"), limits: { concurrentTasks: 2 } }], {
      maxConcurrentTasks: 2,
    });
    expect(shareFaults(spec, namespaces)).toEqual([]);
  });

  it("tells with numbers what selects nothing, overlaps, or adds up to more than the account has", () => {
    const limits = { concurrentTasks: 2, requestsPerMinute: 400, monthlyLimit: "60" };
    const spec = accountWith(
      [
        { name: "film", namespaceSelector: selector("film"), per: "Namespace", limits },
        { name: "also-film", namespaceSelector: selector("film") },
        { name: "nobody", namespaceSelector: selector("nobody") },
      ],
      { maxConcurrentTasks: 3, budget: { monthlyLimit: "100" } },
    );
    expect(shareFaults(spec, namespaces)).toEqual([
      "share also-film also selects film-a (of share film), film-b (of share film), which the earlier share keeps",
      "share nobody selects none of 4 namespaces",
      "limits.concurrentTasks add up to 4, maxConcurrentTasks is 3",
      "limits.requestsPerMinute add up to 800, rateLimit allows 600 a minute",
      "limits.monthlyLimit add up to 120 yuan, budget.monthlyLimit is 100",
    ]);
  });

  it("a limit above the account's own is refused", () => {
    const limited = (limits: object) => [{ name: "film", namespaceSelector: {}, limits }];
    expect(() => accountWith(limited({ concurrentTasks: 4 }), { maxConcurrentTasks: 3 })).toThrow(
      /must not be above maxConcurrentTasks/,
    );
    expect(() => accountWith(limited({ monthlyLimit: "100.01" }), { budget: { monthlyLimit: "100" } })).toThrow(
      /must not be above budget.monthlyLimit/,
    );
    expect(() => accountWith(limited({ monthlyLimit: "20" }), { budget: { monthlyLimit: "100" } })).not.toThrow();
  });
});

describe("what a share never allows", () => {
  it("names of others: nothing is allowed by default, and what is listed is", () => {
    const spec = specOf({
      volumes: [{ type: "network", id: "storage-1", mountPath: "/data" }],
      clusterID: "cluster-1",
      registryAuthID: "auth-1",
    });
    expect(forbiddenInEndpoint(share(), spec, false)).toEqual([
      { field: "volumes", message: "volumes is storage-1, and share film allows none (allowed.volumes): change it" },
      {
        field: "registryAuthID",
        message: "registryAuthID is auth-1, and share film allows none (allowed.registryAuths): change it",
      },
      {
        field: "clusterID",
        message: "clusterID is cluster-1, and share film allows none (allowed.clusters): change it",
      },
    ]);
    const allowed = { volumes: ["storage-*"], registryAuths: ["auth-1"], clusters: ["cluster-1", "cluster-2"] };
    expect(forbiddenInEndpoint(share({ allowed }), spec, false)).toEqual([]);
    expect(forbiddenRegion(share(), "region-1")).toHaveLength(1);
    expect(forbiddenRegion(share({ allowed: { regions: ["region-1"] } }), "region-1")).toEqual([]);
  });

  it("more workers or GPUs than all endpoints may have, and endpoints that outlive their object", () => {
    const limited = share({ limits: { maxWorkers: 3, maxGPUs: 3 } });
    const workers = { min: 0, max: 4, idleTimeoutSeconds: 60, maxConcurrency: 1, gpus: 1, requestTimeoutSeconds: 60 };
    expect(forbiddenInEndpoint(limited, specOf({ workers }), true).map(({ message }) => message)).toEqual([
      "workers.max is 4, and share film allows 3 for all endpoints (limits.maxWorkers): lower it",
      "workers.max times workers.gpus is 4, and share film allows 3 for all endpoints (limits.maxGPUs): lower it",
      "deletionPolicy is Retain, and share film limits the workers of all endpoints: use ScaleToZero or Delete",
    ]);
    expect(forbiddenInEndpoint(limited, specOf({ workers, suspend: true }), false)).toEqual([]);
    expect(forbiddenInEndpoint(share(), specOf({ workers }), true)).toEqual([]);
  });

  it("products, models and voices that are not listed, and jobs without maxCost", () => {
    const strict = share({
      limits: { products: ["gpu-h100"], models: ["speech-2.6-hd"] },
      allowed: { voices: ["narrator"] },
      requireMaxCost: true,
    });
    expect(forbiddenInEndpoint(strict, specOf({}), false).map(({ field }) => field)).toEqual(["products"]);
    expect(forbiddenInJob(strict, job("turbo")).map(({ message }) => message)).toEqual([
      "model is speech-2.6-turbo, and share film allows speech-2.6-hd (limits.models): change it",
      "share film requires maxCost (requireMaxCost), and the job has none: create it again with maxCost",
      "voiceSetting.voiceID is announcer, and share film allows narrator (allowed.voices): change it",
    ]);
    expect(forbiddenInJob(strict, job("hd", { maxCost: "1", voiceSetting: { voiceID: "narrator" } }))).toEqual([]);
    expect(forbiddenInJob(share(), job("image"))).toEqual([]);
  });

  it("a job that costs more than a day or a month may", () => {
    const limited = share({ limits: { dailyLimit: "0.5" } });
    expect(forbiddenCost(limited, 5_001n)?.message).toBe(
      "The job would cost about 0.5001 yuan, and share film allows 0.5 (limits.dailyLimit): create a smaller job",
    );
    expect(forbiddenCost(limited, 5_000n)).toBeUndefined();
    expect(forbiddenCost(limited, undefined)).toBeUndefined();
  });
});
