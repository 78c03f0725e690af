import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { conditionsPage } from "../../../scripts/reference/conditions-page.ts";
import { EVENTS } from "../../../scripts/reference/events-page.ts";
import { kindPagePath } from "../../../scripts/reference/kind-page.ts";
import { operatorMetrics } from "../../../scripts/reference/metrics-page.ts";
import { type Schema, schemaFields, schemaRules } from "../../../scripts/reference/schema-fields.ts";
import { markdownTable } from "../../../scripts/reference/table.ts";
import { structuralSchema } from "../../../src/api/schema/structural.ts";
import { CONDITIONS } from "../../../src/api/v1alpha1/conditions.ts";
import { driftFields } from "../../../src/api/v1alpha1/gpu-endpoint.ts";
import { KINDS } from "../../../src/api/v1alpha1/kinds.ts";
import { createProgram } from "../../../src/cli/program.ts";
import { visibleCommands } from "../../../src/cli/use/completion/candidates.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const read = (path: string) => readFile(join(root, path), "utf8");

/** Every source file below a folder of src. */
async function sources(folder: string): Promise<string[]> {
  const names = await readdir(join(root, folder), { recursive: true });
  return Promise.all(names.filter((name) => name.endsWith(".ts")).map((name) => read(join(folder, name))));
}

/** Names of all properties in a schema, wherever they are. */
function propertyNames(schema: unknown): string[] {
  if (typeof schema !== "object" || schema === null) return [];
  const { properties } = schema as Schema;
  const own = typeof properties === "object" && properties !== null ? Object.keys(properties) : [];
  return [...own, ...Object.values(schema).flatMap(propertyNames)];
}

describe.each(KINDS)("docs/reference/$singular.md", (kind) => {
  test("has every field of spec and status, with its meaning", async () => {
    const page = await read(kindPagePath(kind));
    for (const [part, schema] of Object.entries({ spec: kind.spec, status: kind.status })) {
      const structural = structuralSchema(schema);
      const fields = schemaFields(structural, part);
      expect(fields.length).toBe(propertyNames(structural).length);
      for (const { path, description } of fields) {
        expect(description, `${kind.resource.kind} ${path}: add a description to the schema`).not.toBe("");
        expect(page).toContain(`| \`${path}\` | `);
      }
    }
  });

  test("has the message of every rule, as the API server prints it", async () => {
    const page = (await read(kindPagePath(kind))).replaceAll("&lt;", "<").replaceAll("\\|", "|");
    for (const { message } of schemaRules(structuralSchema(kind.spec), "spec"))
      expect(page).toContain(`| ${message} |`);
  });
});

describe("fields of a schema", () => {
  const schema: Schema = {
    type: "object",
    required: ["size"],
    properties: {
      size: { type: "integer", minimum: 1, maximum: 9, description: "How large." },
      count: { type: "integer", minimum: 0, maximum: 2_147_483_647, description: "How many." },
      share: { type: "number", minimum: 0, exclusiveMinimum: true, description: "A share." },
      rate: {
        type: "number",
        minimum: 0,
        exclusiveMinimum: true,
        description: "A rate.",
        "x-kubernetes-validations": [{ rule: "self >= 0.1", message: "must be 0.1 or more" }],
      },
      mode: { type: "string", enum: ["A", "B"], default: "A", description: "How." },
      parts: {
        type: "array",
        maxItems: 3,
        items: { type: "object", properties: { id: { type: "string", maxLength: 5 } } },
      },
      labels: { type: "object", additionalProperties: { type: "string", minLength: 1 } },
    },
    "x-kubernetes-validations": [
      { rule: "self.size == oldSelf.size", message: "size cannot be changed", fieldPath: ".size" },
      { rule: "self.size > 0", message: "size must be good" },
    ],
  };
  const fields = new Map(schemaFields(schema, "spec").map((field) => [field.path, field]));

  test.each([
    { path: "spec.size", expected: { isRequired: true, allowed: "1 to 9", isImmutable: true, type: "integer" } },
    { path: "spec.count", expected: { isRequired: false, allowed: "0 or more", isImmutable: false } },
    { path: "spec.share", expected: { allowed: "above 0" } },
    { path: "spec.rate", expected: { allowed: "0.1 or more" } },
    { path: "spec.mode", expected: { fallback: "A", allowed: "`A`, `B`" } },
    { path: "spec.parts", expected: { type: "list of object", allowed: "at most 3 entries" } },
    { path: "spec.parts[].id", expected: { allowed: "at most 5 characters" } },
    { path: "spec.labels", expected: { type: "map of string", allowed: "1 character or more" } },
  ])("$path", ({ path, expected }) => expect(fields.get(path)).toMatchObject(expected));

  test("a rule without a field concerns the object that has it", () => {
    expect(schemaRules(schema, "spec").map(({ path }) => path)).toEqual(["spec.size", "spec", "spec.rate"]);
  });
});

test("a table escapes what Markdown would read as markup", () => {
  expect(markdownTable(["a"], [["x | y <b> `<c|d>`"]])).toBe("| a |\n|---|\n| x \\| y &lt;b> `<c\\|d>` |");
});

describe("docs/reference/conditions.md", () => {
  test("has every condition", async () => {
    const page = await read("docs/reference/conditions.md");
    for (const type of Object.keys(CONDITIONS)) expect(page).toMatch(new RegExp(`^\\| \`${type}\` \\| \\S`, "m"));
  });

  test("needs the kinds in the doc comment of a condition", () => {
    expect(() => conditionsPage({ A: "No kinds." })).toThrow("condition A:");
  });
});

test("docs/reference/metrics.md has every metric that the source registers", async () => {
  const text = (await sources("src")).join("\n");
  const registered = [
    ...text.matchAll(/(?:name: |of\(\s*)"((?:mooring|controller_runtime|workqueue|rest_client)_\w+)"/g),
  ];
  expect(operatorMetrics().map(({ name }) => name)).toEqual([...new Set(registered.map(([, name]) => name))].sort());
});

test("docs/reference/command-line.md has every command", async () => {
  const page = await read("docs/reference/command-line.md");
  for (const { name, description } of visibleCommands(await createProgram()).map((one) => ({
    name: one.name(),
    description: one.description(),
  }))) {
    expect(page).toContain(`## mooring ${name}\n`);
    expect(page.replaceAll(/\s+/g, " ")).toContain(description);
  }
});

test("docs/reference/events.md has every event that a controller names", async () => {
  const all = [...(await sources("src/controllers")), ...(await sources("src/tracing"))];
  const emitting = all.filter((text) => /\.(?:normal|warning)\(|note\?: \{ reason:/.test(text));
  const direct = emitting.flatMap((text) => [...text.matchAll(/\.(?:normal|warning)\(\s*\w+,\s*"(\w+)"/g)]);
  const chosen = emitting.flatMap((text) => [...text.matchAll(/const reason = [^;\n]*\? "(\w+)" : "(\w+)"/g)]);
  const noted = emitting.flatMap((text) => [...text.matchAll(/note\?: \{ reason: "(\w+)" \| "(\w+)"/g)]);
  const reasons = new Set([...direct, ...chosen, ...noted].flatMap(([, ...names]) => names));
  expect([...new Set(EVENTS.map(({ reason }) => reason))].sort()).toEqual([...reasons].sort());
});

test("ignoreDrift takes the paths that the reference lists", async () => {
  const page = await read("docs/reference/gpuendpoint.md");
  const row = page.split("\n").find((line) => line.startsWith("| `spec.ignoreDrift` |"));
  for (const field of driftFields) expect(row).toContain(`\`${field}\``);
});
