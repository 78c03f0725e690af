import { describe, expect, it } from "vitest";
import { type DriftField, driftFields } from "../../../../src/api/v1alpha1/gpu-endpoint.ts";
import {
  type DesiredEndpoint,
  differences,
  ignoredFields,
  withIgnored,
} from "../../../../src/controllers/gpu-endpoint/fields.ts";
import { type EndpointRecord, fromCurrent } from "../../../../src/provider/endpoints/endpoint-record.ts";
import type { EndpointVariable } from "../../../../src/provider/types.ts";
import { desiredOf, detailsOf, endpointOf, recordOf } from "../../../support/endpoints.ts";

const volumes = [
  { type: "network", id: "net-1", mountPath: "/models" },
  { type: "local", sizeGB: 30, mountPath: "/scratch" },
];
const desired = desiredOf(endpointOf({ command: "serve", registryAuthID: "auth-1", clusterID: "cluster-1", volumes }), [
  { name: "MODE", value: "fast", secret: false },
  { name: "TOKEN", value: "s3cr3t", secret: true },
]);
const equal = recordOf(desired, { details: detailsOf("cluster-1") });
const config = (change: Partial<EndpointRecord["scaling"]>) => ({
  scaling: { ...equal.scaling, ...change },
});

/** One row a field of the table in the API's documentation: what the remote shows, and what the status says of it. */
const rows: [DriftField, Partial<EndpointRecord>, string, string, boolean][] = [
  ["name", { name: "renamed" }, "team-echo", "renamed", true],
  ["appName", { appName: "other" }, desired.appName, "other", false],
  ["products", { productID: "gpu-h100" }, "gpu-4090-24g", "gpu-h100", false],
  ["image", { image: "a:2" }, "registry.example.com/models/echo:1.0", "a:2", true],
  ["command", { command: "" }, "serve", "", true],
  ["registryAuthID", { registryAuthID: "" }, "auth-1", "", true],
  ["port", { ports: [9000] }, "8000", "9000", true],
  ["workers.min", config({ min: 0 }), "1", "0", true],
  ["workers.max", config({ max: 9 }), "2", "9", true],
  ["workers.idleTimeoutSeconds", config({ idleTimeout: 61 }), "60", "61", true],
  ["workers.maxConcurrency", config({ maxConcurrency: 5 }), "4", "5", true],
  ["workers.gpus", config({ gpus: 2 }), "1", "2", true],
  ["workers.requestTimeoutSeconds", config({ requestTimeout: 121 }), "120", "121", true],
  ["policy.type", { policy: { type: "concurrency", value: 30 } }, "queue", "concurrency", true],
  ["policy.value", { policy: { type: "queue", value: 31 } }, "30", "31", true],
  ["rootfsSizeGB", { rootfsSizeGB: 50 }, "100", "50", false],
  [
    "volumes",
    { volumes: equal.volumes.slice(1) },
    "local at /scratch 30 GB; network net-1 at /models",
    "local at /scratch 30 GB",
    true,
  ],
  ["clusterID", { details: detailsOf("cluster-2") }, "cluster-1", "cluster-2", true],
  ["env", { envs: [] }, "MODE=(hidden), TOKEN=(hidden)", "MODE absent, TOKEN absent", true],
  ["healthCheck.path", { healthCheck: { path: "/", port: undefined } }, "/health", "/", true],
];

describe("the remote differs from the spec", () => {
  it.each(rows)("in %s alone", (field, change, wanted, observed, remediable) => {
    expect(differences(desired, { ...equal, ...change })).toEqual([{ field, desired: wanted, observed, remediable }]);
  });

  it("in no field when it is equal", () => {
    expect(differences(desired, equal)).toEqual([]);
  });

  it.each(rows)("in %s, but another party owns it", (field, change) => {
    expect(differences(desired, { ...equal, ...change }, [field])).toEqual([]);
  });

  it("in a field whose parent another party owns", () => {
    expect(differences(desired, { ...equal, ...config({ min: 0, gpus: 8 }) }, ["workers"])).toEqual([]);
    expect(differences(desired, { ...equal, ...config({ min: 0, gpus: 8 }) }, ["workers.min"])).toMatchObject([
      { field: "workers.gpus" },
    ]);
  });

  it("has a row for every path that ignoreDrift takes", () => {
    const parents = ["workers", "policy"];
    expect(new Set([...rows.map(([field]) => field), ...parents])).toEqual(new Set(driftFields));
  });
});

describe("the remote says the same in other words", () => {
  it.each<[string, Partial<EndpointRecord>]>([
    ["volumes in another order", { volumes: [...equal.volumes].reverse() }],
    [
      "a local volume without its size, as a single read shows it",
      {
        volumes: equal.volumes.map((volume) => ({ ...volume, sizeGB: undefined })),
      },
    ],
    ["variables in another order", { envs: [...equal.envs].reverse() }],
    ["a number that it does not show", config({ gpus: undefined })],
    ["no port at all", { ports: [] }],
    ["no app name", { appName: "" }],
    ["no product", { productID: "" }],
    ["a worker that runs", { workers: [worker("ready")] }],
    ["another state", { status: { status: "deploying", error: "", message: "" } }],
  ])("%s", (_name, change) => {
    expect(differences(desired, { ...equal, ...change })).toEqual([]);
  });

  it("no cluster, as the current generation", () => {
    const { details: _details, ...current } = equal;
    expect(differences(desired, current)).toEqual([]);
  });

  it("a cluster without network storage, which the service does not show", () => {
    const clustered = desiredOf(endpointOf({ clusterID: "cluster-1" }));
    expect(differences(clustered, recordOf(clustered, { details: detailsOf("") }))).toEqual([]);
    expect(differences(desiredOf(endpointOf()), recordOf(clustered, { details: detailsOf("") }))).toEqual([]);
  });

  it.each([
    ["a size that differs", 40, ["local at /scratch 30 GB", "local at /scratch 40 GB"]],
    ["the size", 30, undefined],
    ["no size", undefined, undefined],
  ])("%s of a local volume that the spec gives none", (_name, sizeGB, texts) => {
    const local = desiredOf(endpointOf({ volumes: [{ type: "local", mountPath: "/scratch" }] }));
    const found = differences(
      local,
      recordOf(local, { volumes: [{ type: "local", id: "x", sizeGB, mountPath: "/scratch" }] }),
    );
    expect(found.map(({ desired: want, observed }) => [want, observed])).toEqual(texts === undefined ? [] : [texts]);
  });

  it("more products and ports than there may be, as the earlier generation may show them", () => {
    const details = { ...detailsOf("cluster-1"), products: ["gpu-4090-24g", "gpu-h100"] };
    expect(differences(desired, { ...equal, details })).toMatchObject([
      { field: "products", observed: "gpu-4090-24g, gpu-h100" },
    ]);
    expect(differences(desired, { ...equal, ports: [8000, 9000] })).toMatchObject([
      { field: "port", desired: "8000", observed: "8000, 9000", remediable: true },
    ]);
  });

  it("numbers as strings and lists as null, as answers on the wire may have them", () => {
    const plain = desiredOf(endpointOf());
    const wire = {
      id: "ep-1",
      name: plain.name,
      app_name: plain.appName,
      product_id: "gpu-4090-24g",
      image: plain.image,
      status: { status: "running" },
      worker_config: {
        min_replicas: "1",
        max_replicas: "2",
        idle_timeout: "60",
        max_concurrent_per_worker: "4",
        gpu_num: "1",
        request_timeout: "120",
        rootfs_size_gb: "100",
      },
      policy: { type: "queue", value: "30" },
      ports: ["8000"],
      envs: null,
      volumes: null,
      workers: null,
      health_check: { path: "/health" },
    };
    expect(differences(plain, fromCurrent(wire))).toEqual([]);
  });
});

describe("environment", () => {
  const env: EndpointVariable[] = [
    { name: "MODE", value: "fast", secret: false },
    { name: "TOKEN", value: "s3cr3t", secret: true },
  ];
  const withEnv = desiredOf(endpointOf(), env);

  it.each([
    [
      "a changed value, hiding both though the spec gives it in plain text",
      [
        ["MODE", "slow"],
        ["TOKEN", "s3cr3t"],
      ],
      "MODE=(hidden)",
      "MODE=(hidden)",
    ],
    [
      "a changed secret, hiding both",
      [
        ["MODE", "fast"],
        ["TOKEN", "old-s3cr3t"],
      ],
      "TOKEN=(hidden)",
      "TOKEN=(hidden)",
    ],
    [
      "a variable of somebody else, hiding what it holds",
      [
        ["MODE", "fast"],
        ["TOKEN", "s3cr3t"],
        ["EXTRA", "p4ss"],
      ],
      "EXTRA absent",
      "EXTRA=(hidden)",
    ],
    ["a missing variable", [["TOKEN", "s3cr3t"]], "MODE=(hidden)", "MODE absent"],
  ])("shows %s", (_name, envs, wanted, observed) => {
    const record = recordOf(withEnv, { envs: envs.map(([key = "", value = ""]) => ({ key, value })) });
    const found = differences(withEnv, record);
    expect(found).toEqual([{ field: "env", desired: wanted, observed, remediable: true }]);
    expect(JSON.stringify(found)).not.toMatch(/s3cr3t|p4ss|slow|fast/);
  });

  it("fits into the status however much differs", () => {
    const many = Array.from({ length: 256 }, (_, i) => ({ name: `V${i}`, value: "x".repeat(400), secret: false }));
    const [found] = differences(desiredOf(endpointOf(), many), recordOf(withEnv));
    expect(found?.desired?.length).toBeLessThanOrEqual(4096);
  });
});

describe("what another party owns", () => {
  it("is what ignoreDrift says, and the app name of an adopted endpoint", () => {
    const adoption = { endpointID: "ep-9", mode: "Override" };
    expect(ignoredFields(endpointOf().spec)).toEqual([]);
    expect(ignoredFields(endpointOf({ ignoreDrift: ["image"], adoption }).spec)).toEqual(["image", "appName"]);
    const scaled = endpointOf({ ignoreDrift: ["workers", "image"] }).spec;
    expect(ignoredFields({ ...scaled, suspend: true })).not.toContain("workers.min");
    expect(ignoredFields(scaled, true)).toEqual([
      "image",
      "workers.idleTimeoutSeconds",
      "workers.maxConcurrency",
      "workers.gpus",
      "workers.requestTimeoutSeconds",
    ]);
  });

  const theirs: EndpointRecord = {
    ...equal,
    name: "renamed",
    image: "a:2",
    command: "other",
    registryAuthID: "auth-2",
    ports: [9000],
    scaling: {
      ...equal.scaling,
      min: 5,
      max: 6,
      idleTimeout: 7,
      maxConcurrency: 8,
      gpus: 4,
      requestTimeout: 9,
    },
    policy: { type: "concurrency", value: 3 },
    volumes: [{ type: "network", id: "net-2", sizeGB: undefined, mountPath: "/elsewhere" }],
    envs: [{ key: "OWN", value: "1" }],
    healthCheck: { path: "/other", port: undefined },
    details: detailsOf("cluster-2"),
  };
  const updatable = driftFields.filter((field) => !["appName", "products", "rootfsSizeGB"].includes(field));

  it.each(updatable)("is sent as the remote has it when that is %s", (field) => {
    const sent = withIgnored(desired, theirs, [field]);
    expect(differences(sent, theirs).map((one) => one.field)).toEqual(
      differences(desired, theirs)
        .map((one) => one.field)
        .filter((one) => one !== field && !one.startsWith(`${field}.`)),
    );
    expect(sent).not.toEqual(desired);
  });

  it("is nothing: the spec is sent as it is", () => {
    expect(withIgnored(desired, theirs, [])).toEqual<DesiredEndpoint>(desired);
  });
});

function worker(status: string): EndpointRecord["workers"][number] {
  return { id: "w-1", status: { status, error: "", message: "" }, log: "", healthy: true, draining: false };
}
