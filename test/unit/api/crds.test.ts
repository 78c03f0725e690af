import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { crdFileName, crdYaml, customResourceDefinition } from "../../../src/api/schema/crd.ts";
import { KINDS } from "../../../src/api/v1alpha1/kinds.ts";

const directory = join(import.meta.dirname, "../../../crds");
type Node = { [key: string]: unknown };

/** Every schema node below `node`, with its path. */
function* nodes(node: Node, path: string): Generator<[string, Node]> {
  yield [path, node];
  for (const [key, value] of Object.entries((node.properties ?? {}) as Record<string, Node>)) {
    yield* nodes(value, `${path}.${key}`);
  }
  if (node.items !== undefined) yield* nodes(node.items as Node, `${path}[]`);
  if (node.additionalProperties !== undefined) yield* nodes(node.additionalProperties as Node, `${path}{}`);
}

function schemaOf(kind: (typeof KINDS)[number]): Node {
  const crd = customResourceDefinition(kind) as { spec: { versions: { schema: { openAPIV3Schema: Node } }[] } };
  const schema = crd.spec.versions[0]?.schema.openAPIV3Schema;
  if (schema === undefined) throw new Error("no version");
  return schema;
}

describe("crds/", () => {
  it("holds one file per kind and nothing else", () => {
    expect(readdirSync(directory).sort()).toEqual(KINDS.map(crdFileName).sort());
  });

  it.each(KINDS.map((kind) => [kind.resource.kind, kind] as const))(
    "%s is as generated (npm run generate)",
    (_, kind) => {
      expect(readFileSync(join(directory, crdFileName(kind)), "utf8")).toBe(crdYaml(kind));
    },
  );
});

describe.each(KINDS.map((kind) => [kind.resource.kind, kind] as const))("the schema of %s", (_, kind) => {
  const all = [...nodes(schemaOf(kind), "")].filter(([path]) => path.startsWith(".spec") || path.startsWith(".status"));

  it("describes every field", () => {
    const bare = all.filter(([path, node]) => !/(\[\]|\{\})$/.test(path) && typeof node.description !== "string");
    expect(bare.map(([path]) => path)).toEqual([]);
  });

  it("bounds every list, map and string", () => {
    const loose = all.filter(
      ([, node]) =>
        (node.type === "array" && node.maxItems === undefined) ||
        (node.type === "string" && node.maxLength === undefined && node.enum === undefined) ||
        (node.additionalProperties !== undefined && node.maxProperties === undefined),
    );
    expect(loose.map(([path]) => path)).toEqual([]);
  });

  it("is structural: a type everywhere, no unions, references or closed objects", () => {
    const odd = all.filter(
      ([, node]) =>
        typeof node.type !== "string" ||
        ["$ref", "oneOf", "anyOf", "allOf", "not", "nullable", "const", "propertyNames"].some((key) => key in node) ||
        node.additionalProperties === false,
    );
    expect(odd.map(([path]) => path)).toEqual([]);
  });

  it("gives every rule a message of one line", () => {
    const rules = all.flatMap(([, node]) => (node["x-kubernetes-validations"] ?? []) as { message?: string }[]);
    for (const { message } of rules) expect(message).toMatch(/^[^\n]{10,}$/);
  });

  it("starts as Ready=Unknown/Pending", () => {
    const status = all.find(([path]) => path === ".status")?.[1];
    expect(status?.default).toEqual({
      conditions: [
        {
          type: "Ready",
          status: "Unknown",
          reason: "Pending",
          message: "Waiting for controller",
          lastTransitionTime: "1970-01-01T00:00:00Z",
        },
      ],
    });
  });
});

describe("server-side apply merges lists by key", () => {
  it.each([
    { name: "GpuEndpoint", path: ".spec.env", key: "name" },
    { name: "GpuEndpoint", path: ".spec.volumes", key: "mountPath" },
    { name: "GpuEndpoint", path: ".status.conditions", key: "type" },
    { name: "SpeechJob", path: ".status.conditions", key: "type" },
    { name: "Account", path: ".spec.operations", key: "operation" },
  ])("$name$path by $key", ({ name, path, key }) => {
    const kind = KINDS.find(({ resource }) => resource.kind === name);
    const node = kind && [...nodes(schemaOf(kind), "")].find(([at]) => at === path)?.[1];
    expect(node).toMatchObject({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key] });
  });
});

describe("the chart", () => {
  it("carries the CRDs of crds/, and nothing else (npm run generate)", () => {
    const copies = join(import.meta.dirname, "../../../charts/mooring/files/crds");
    expect(readdirSync(copies).sort()).toEqual(readdirSync(directory).sort());
    for (const name of readdirSync(copies)) {
      expect(readFileSync(join(copies, name), "utf8")).toBe(readFileSync(join(directory, name), "utf8"));
    }
  });

  it("can put labels and annotations into each: one metadata, with the name first", () => {
    for (const kind of KINDS) expect(crdYaml(kind).match(/^metadata:\n {2}name:/gm)).toHaveLength(1);
  });
});
