import { describe, expect, it } from "vitest";
import { parseDocument } from "yaml";
import { z } from "zod";
import { type GpuEndpoint, gpuEndpointSpecSchema } from "../../../../../src/api/v1alpha1/gpu-endpoint.ts";
import {
  type ImportedEndpoint,
  importedEndpoints,
  type ManifestOptions,
} from "../../../../../src/cli/operate/import/manifest.ts";
import { desiredEndpoint } from "../../../../../src/controllers/gpu-endpoint/desired.ts";
import { differences, ignoredFields } from "../../../../../src/controllers/gpu-endpoint/fields.ts";
import type { EndpointRecord } from "../../../../../src/provider/endpoints/endpoint-record.ts";
import { CLUSTER_UID, desiredOf, detailsOf, endpointOf, recordOf } from "../../../../support/endpoints.ts";
import type { Change } from "../../../../support/manifests.ts";

const OPTIONS: ManifestOptions = {
  accountRef: { kind: "Account", name: "main" },
  env: "secret",
  managementPolicy: "Full",
  deletionPolicy: "Retain",
  namespace: undefined,
};
const base = recordOf(desiredOf(endpointOf({ name: "echo", appName: "echo-1" })));
const secretSchema = z.object({ data: z.record(z.string(), z.string()) });

function imported(change: Partial<EndpointRecord>, options: Partial<ManifestOptions> = {}): ImportedEndpoint {
  const [one] = importedEndpoints([{ ...base, ...change }], { ...OPTIONS, ...options });
  if (one === undefined) throw new Error("nothing imported");
  return one;
}

const specOf = ({ endpoint }: ImportedEndpoint) => parseDocument(endpoint ?? "").toJS().spec;

/** What Mooring would find different, once the manifest is applied. */
function plannedChanges(result: ImportedEndpoint, record: Partial<EndpointRecord>) {
  const object = parseDocument(result.endpoint ?? "").toJS();
  const data = result.secret === undefined ? {} : secretSchema.parse(parseDocument(result.secret).toJS()).data;
  const spec = gpuEndpointSpecSchema.parse(object.spec);
  const endpoint: GpuEndpoint = { ...object, metadata: { ...object.metadata, namespace: "team", uid: "u" }, spec };
  const env = (spec.env ?? []).map(({ name, value, valueFrom }) => {
    const stored = data[valueFrom?.secretKeyRef?.key ?? ""] ?? "";
    return { name, value: value ?? Buffer.from(stored, "base64").toString(), secret: false };
  });
  return differences(desiredEndpoint(endpoint, CLUSTER_UID, env), { ...base, ...record }, ignoredFields(spec));
}

const long = (length: number) => "x".repeat(length);
const envs = [
  { key: "TOKEN", value: "s3cret" },
  { key: "odd key/é", value: "yes\n" },
];
const network = { type: "network", id: "net-1", sizeGB: undefined, mountPath: "/data" };
const local = { type: "local", id: "x", sizeGB: 30, mountPath: "/tmp" };

/** What the endpoint is like; the fields that are left to the service; a problem that is told. */
const cases: [what: string, change: Partial<EndpointRecord>, left: string[], problem: RegExp | undefined][] = [
  ["a plain endpoint", {}, [], undefined],
  ["no workers", { scaling: { ...base.scaling, min: 0, max: 0 } }, [], undefined],
  ["volumes", { volumes: [network, local], details: detailsOf("cluster-1") }, [], undefined],
  ["environment", { envs }, [], undefined],
  ["further products", { details: { ...detailsOf(""), products: ["p1", "gpu-4090-24g"] } }, [], undefined],
  ["no name", { name: "" }, ["name"], /: name: .*1 char/],
  ["an app name that is no label", { appName: "Echo_1" }, [], /: appName: .*DNS label/],
  ["a long command", { command: long(2048) }, ["command"], /: command: .*2047/],
  ["a long credential", { registryAuthID: long(256) }, ["registryAuthID"], /: registryAuthID: .*255/],
  ["several ports", { ports: [8000, 9000] }, ["port"], /: port: the service shows 2 ports \(8000, 9000\)/],
  ["a volume of another type", { volumes: [{ ...local, type: "nfs" }] }, ["volumes"], /: volumes: \[0\]\.type /],
  ["a long mount path", { volumes: [{ ...local, mountPath: long(256) }] }, ["volumes"], /: volumes: .*255/],
  ["the same mount path twice", { volumes: [local, local] }, ["volumes"], /: volumes: .*Duplicate value/],
  ["an unknown cluster", { volumes: [network] }, ["volumes", "clusterID"], /: clusterID: .*required/],
  ["a variable without a name", { envs: [{ key: "", value: "v" }] }, ["env"], /: env: .*name/],
  ["a variable twice", { envs: [...envs, ...envs] }, ["env"], /: env: .*Duplicate value: name TOKEN/],
  ["a long value", { envs: [{ key: "K", value: long(4096) }] }, ["env"], /: env: .*4095/],
  ["a name that apply would change", { name: "a\u0085b" }, ["name"], /: name: holds the control character U\+0085/],
  ["half a character", { envs: [{ key: "K", value: "\ud800" }] }, ["env"], /: env: holds half a character/],
];

it("bounds every note, whatever the service names", () => {
  const name = "x".repeat(300_000);
  const one = imported({ envs: [{ key: name, value: "v" }], entrypoint: name, image: name });
  expect(one.problems.length).toBeGreaterThan(0);
  for (const problem of one.problems) expect(problem.length).toBeLessThan(1_000);
  const comments = (one.endpoint ?? "").split("\n").filter((line) => line.startsWith("#"));
  for (const comment of comments) expect(comment.length).toBeLessThan(2_000);
});

describe("an imported endpoint, applied, plans no change", () => {
  it.each(cases)("%s", (_, change, left, problem) => {
    for (const env of ["secret", "inline", "omit"] as const) {
      const result = imported(change, { env });
      const fromEnv = problem?.source.includes("env:") === true;
      const omitted = env === "omit" && (change.envs ?? []).length > 0;
      expect(specOf(result).ignoreDrift ?? []).toEqual(omitted ? ["env"] : left);
      if (problem === undefined || (fromEnv && omitted)) expect(result.problems).toEqual([]);
      else expect(result.problems).toEqual([expect.stringMatching(problem)]);
      expect(plannedChanges(result, change)).toEqual([]);
      // Match would refuse what a field that is left to the service holds.
      const mode = specOf(result).ignoreDrift === undefined ? "Match" : "Override";
      expect(specOf(result).adoption).toEqual({ endpointID: "ep-1", mode });
    }
  });
});

describe("an endpoint that is bound to a GpuEndpoint", () => {
  const other: EndpointRecord = { ...base, id: "ep-2", createdAt: 1 };
  const object = (spec: Change) => endpointOf(spec, { name: "chat", namespace: "film", status: { conditions: [] } });

  it.each<[string, Change]>([
    ["created", {}],
    ["created under a chosen app name", { appName: "chat-1" }],
    ["adopted", { adoption: { endpointID: "ep-1", mode: "Override" } }],
  ])("is written as that object when it was %s", (_, spec) => {
    const existing = new Map([["ep-1", object(spec)]]);
    const [first, second] = importedEndpoints(
      [
        { ...base, name: "chat" },
        { ...other, name: "chat" },
      ],
      { ...OPTIONS, existing },
    );
    const written = parseDocument(first?.endpoint ?? "").toJS();
    expect(written.metadata).toEqual({ name: "chat", namespace: "film" });
    expect({ appName: written.spec.appName, adoption: written.spec.adoption }).toEqual({
      appName: spec["appName"],
      adoption: spec["adoption"],
    });
    expect(second?.name).toBe("chat-ep-2");
    expect([first?.file, second?.file]).toEqual(["film.chat", "chat-ep-2"]);
    const [there] = importedEndpoints([base], { ...OPTIONS, existing, namespace: "film" });
    expect(there?.file).toBe("chat");
  });
});

it.each<{ name: string; change: Partial<EndpointRecord>; field: string }>([
  { name: "no port", change: { ports: [] }, field: "port" },
  { name: "a reserved port", change: { ports: [2223] }, field: "port" },
  { name: "no image", change: { image: "" }, field: "image" },
  { name: "no product", change: { productID: "" }, field: "products" },
  { name: "an unknown policy", change: { policy: { type: "latency", value: 1 } }, field: "policy" },
  { name: "an unknown number", change: { scaling: { ...base.scaling, gpus: undefined } }, field: "workers" },
  {
    name: "more workers at least than at most",
    change: { scaling: { ...base.scaling, min: 3, max: 1 } },
    field: "workers",
  },
  { name: "no health check", change: { healthCheck: { path: "", port: undefined } }, field: "healthCheck" },
])("with $name none can be written, and a line says why", ({ change, field }) => {
  const result = imported(change);
  expect(result.endpoint).toBeUndefined();
  expect(result.problems).toEqual([
    expect.stringMatching(new RegExp(`^endpoint ep-1 "echo": ${field}: .*: not written$`)),
  ]);
});

describe("the environment", () => {
  it("goes into a Secret beside, under keys that a Secret can have", () => {
    const result = imported({ envs: [...envs, { key: "../..", value: "" }] });
    const { metadata, data } = parseDocument(result.secret ?? "").toJS();
    expect(metadata).toEqual({ name: "echo-env" });
    for (const key of Object.keys(data)) expect(key).toMatch(/^[-._a-zA-Z0-9]{1,253}$/);
    expect(Object.keys(data)[0]).toBe("TOKEN");
    expect(Object.values(data)).toEqual(["czNjcmV0", "eWVzCg==", ""]);
    expect(result.endpoint).not.toContain("s3cret");
  });

  it("has values inline only where apply takes them unchanged", () => {
    const change = { envs: [{ key: "K", value: "\u0085" }] };
    expect(imported(change)).toMatchObject({ problems: [], secret: expect.stringContaining("K: woU=") });
    const inline = imported(change, { env: "inline" });
    expect(inline.problems).toEqual([expect.stringMatching(/: env: holds the control character U\+0085/)]);
    expect(specOf(inline).ignoreDrift).toEqual(["env"]);
  });

  it("stays at the service when it is larger than a Secret can be", () => {
    const many = Array.from({ length: 256 }, (_, i) => ({ key: `K${i}`, value: "é".repeat(4095) }));
    const result = imported({ envs: many });
    expect(result.secret).toBeUndefined();
    expect(specOf(result).ignoreDrift).toEqual(["env"]);
    expect(result.problems).toEqual([expect.stringMatching(/: env: \d+ bytes/)]);
  });

  it("is nowhere to be seen with omit", () => {
    const result = imported({ envs }, { env: "omit" });
    expect(result.secret).toBeUndefined();
    expect(result.endpoint).not.toContain("TOKEN");
  });
});

it("says what no update can set, in one comment", () => {
  const result = imported({
    entrypoint: "/bin/\nsh",
    type: "async",
    scaling: { ...base.scaling, minCudaVersion: "12.4" },
  });
  expect(result.endpoint).toMatch(
    /^# Imported from endpoint ep-1 "echo"\.\n# Not carried over, as no create or update can set it: type "async"; entrypoint "\/bin\/\\nsh"; CUDA version "12\.4"\.\n\napiVersion/,
  );
  expect(result.problems).toEqual([]);
});

it("has its fields in the order of the API, and says so when asked for another policy and place", () => {
  const result = imported({}, { namespace: "team", managementPolicy: "Observe", deletionPolicy: "ScaleToZero" });
  const { metadata, spec } = parseDocument(result.endpoint ?? "").toJS();
  expect(metadata).toEqual({ name: "echo", namespace: "team" });
  expect(Object.keys(spec)).toEqual([
    ...["accountRef", "name", "appName", "products", "image", "port", "workers", "policy", "rootfsSizeGB"],
    ...["healthCheck", "managementPolicy", "adoption", "deletionPolicy"],
  ]);
  expect(spec).toMatchObject({
    accountRef: { kind: "Account", name: "main" },
    managementPolicy: "Observe",
    deletionPolicy: "ScaleToZero",
    adoption: { endpointID: "ep-1", mode: "Match" },
  });
});
