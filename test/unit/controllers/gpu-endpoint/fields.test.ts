import { describe, expect, it } from "vitest";
import { z } from "zod";
import { driftFields, gpuEndpointSpecSchema } from "../../../../src/api/v1alpha1/gpu-endpoint.ts";
import { copyOf, endpointFields } from "../../../../src/controllers/gpu-endpoint/fields.ts";
import { desiredOf, detailsOf, endpointOf, recordOf } from "../../../support/endpoints.ts";
import { manifest } from "../../../support/manifests.ts";

type Schema = {
  properties?: Record<string, Schema>;
  "x-kubernetes-validations"?: { fieldPath?: string; rule: string }[];
};

/** Parts of a spec that tell the operator what to do, and that no endpoint shows. */
const INSTRUCTIONS = [
  "accountRef",
  "suspend",
  "driftPolicy",
  "ignoreDrift",
  "managementPolicy",
  "adoption",
  "deletionPolicy",
  "exportTo",
];
const schema: Schema = JSON.parse(JSON.stringify(z.toJSONSchema(gpuEndpointSpecSchema, { io: "input" })));
const paths = endpointFields.map(({ path }) => path);

function pathsIn({ properties = {} }: Schema, prefix = ""): string[] {
  return Object.entries(properties).flatMap(([name, property]) =>
    property.properties === undefined ? [`${prefix}${name}`] : pathsIn(property, `${prefix}${name}.`),
  );
}

describe("the fields of an endpoint", () => {
  it("are the paths of ignoreDrift, in their order", () => {
    expect(paths).toEqual(driftFields.filter((path) => path !== "workers" && path !== "policy"));
  });

  it("are the fields of the spec that are no instruction for the operator", () => {
    const shown = pathsIn(schema).filter((path) => !INSTRUCTIONS.includes(path.split(".")[0] ?? ""));
    expect(paths).toEqual(shown);
  });

  it.each(endpointFields)("$path: a spec may leave it out: $optional", ({ path, optional = false }) => {
    const accepted = gpuEndpointSpecSchema.safeParse(without(manifest("endpoint").spec, path.split(".")));
    expect(accepted.success).toBe(optional);
  });

  it.each(endpointFields)("$path: only a create sends it: $createOnly", ({ path, createOnly = false }) => {
    const rules = schema["x-kubernetes-validations"] ?? [];
    expect(rules.some(({ fieldPath, rule }) => fieldPath === `.${path}` && rule.includes("oldSelf"))).toBe(createOnly);
  });

  const volumes = [{ type: "network", id: "net-1", mountPath: "/models" }];
  const change = { command: "serve", registryAuthID: "auth-1", clusterID: "cluster-1", volumes };
  const endpoint = endpointOf({ name: "echo", appName: "echo-1", ...change });
  const desired = desiredOf(endpoint, [{ name: "MODE", value: "fast", secret: false }]);
  const record = recordOf(desired, { details: detailsOf("cluster-1") });
  const expected: Record<string, unknown> = { ...endpoint.spec, env: [{ name: "MODE", value: "fast" }] };

  it.each(endpointFields)("$path: its row alone builds the desired value", (field) => {
    const other = endpointOf({
      name: "other",
      appName: "other-1",
      products: [{ id: "other" }],
      image: "other:1",
      port: 9_000,
      workers: { min: 2, max: 3, idleTimeoutSeconds: 4, maxConcurrency: 5, gpus: 6, requestTimeoutSeconds: 7 },
      policy: { type: "concurrency", value: 8 },
      rootfsSizeGB: 50,
      healthCheck: { path: "/other" },
    });
    const others = desiredOf(other);
    const source = { spec: endpoint.spec, name: "echo", appName: "echo-1", env: desired.env };
    const built = copyOf(others);
    field.build(built, source);
    expect(field.sent(built)).toEqual(field.sent(desired));
    expect(field.sent(built)).not.toEqual(field.sent(others));
    for (const row of endpointFields) {
      if (row !== field) expect([row.path, row.sent(built)]).toEqual([row.path, row.sent(others)]);
    }
  });

  it.each(endpointFields)("$path: an import of an equal endpoint gives the value of the spec", (field) => {
    expect(field.compare(desired, record)).toBeUndefined();
    const [group = "", name] = field.path.split(".");
    const value = expected[group];
    expect(field.imported(record)).toEqual(
      name === undefined ? value : z.record(z.string(), z.unknown()).parse(value)[name],
    );
  });
});

function without(value: unknown, [name = "", ...rest]: string[]): unknown {
  const { [name]: removed, ...others } = z.record(z.string(), z.unknown()).parse(value);
  return rest.length === 0 ? others : { ...others, [name]: without(removed, rest) };
}
