import type { KindDefinition } from "../../src/api/schema/definition.ts";
import { celRule } from "../../src/api/schema/rule.ts";
import { structuralSchema } from "../../src/api/schema/structural.ts";
import { API_VERSION } from "../../src/api/v1alpha1/meta.ts";
import { type SchemaField, schemaFields, schemaRules } from "./schema-fields.ts";
import { code, markdownTable, pageHead } from "./table.ts";

/** Path of a kind's reference page, from the root of the repository. */
export function kindPagePath({ singular }: KindDefinition): string {
  return `docs/reference/${singular}.md`;
}

/** The reference of one kind: its fields, its rules and its columns. `guide`: link target of the hand-written page. */
export function kindPage(kind: KindDefinition, guide: string): string {
  const { resource, description, shortNames, scale } = kind;
  const spec = structuralSchema(kind.spec);
  const status = structuralSchema(kind.status);
  const rules = [...schemaRules(spec, "spec"), ...(kind.rules ?? []).map(celRule).map(rootRule)];
  const names = shortNames.map(code).join(", ");
  const scope = resource.namespaced ? "Objects have a namespace." : "Objects have no namespace.";
  return [
    pageHead(resource.kind, "src/api/v1alpha1"),
    `${description} See [the guide](${guide}) for examples and common questions.`,
    "",
    `\`apiVersion: ${API_VERSION}\`, \`kind: ${resource.kind}\`. ${scope} Short name: ${names}.`,
    ...(scale === undefined ? [] : ["", scaleText(scale)]),
    "",
    "## Spec",
    "",
    markdownTable(["field", "type", "default", "allowed values", "meaning"], schemaFields(spec, "spec").map(specRow)),
    "",
    ...rulesSection(rules),
    "## Status",
    "",
    "Mooring writes the status. See [conditions](conditions.md) and [reasons](reasons.md) for `status.conditions`.",
    "",
    markdownTable(["field", "type", "allowed values", "meaning"], schemaFields(status, "status").map(statusRow)),
    "",
    "## Columns of kubectl get",
    "",
    markdownTable(
      ["column", "shows", "when"],
      kind.columns.map(({ name, jsonPath, wide }) => [
        code(name.toUpperCase()),
        code(jsonPath),
        wide ? "`-o wide`" : "always",
      ]),
    ),
    "",
  ].join("\n");
}

function specRow(field: SchemaField): string[] {
  const fallback = field.isRequired ? "required" : code(field.fallback);
  const immutable = field.isImmutable && !/\bimmutable\b/i.test(field.description) ? " Immutable." : "";
  return [code(field.path), field.type, fallback, field.allowed, `${field.description}${immutable}`];
}

function statusRow({ path, type, allowed, description }: SchemaField): string[] {
  return [code(path), type, allowed, description];
}

function rootRule({ message, fieldPath = "" }: { message: string; fieldPath?: string }) {
  return { path: fieldPath.slice(1), message };
}

/** The API server answers with these messages, so a search for one of them finds its page. */
function rulesSection(rules: readonly { path: string; message: string }[]): string[] {
  if (rules.length === 0) return [];
  const intro = "The API server refuses an object that breaks one of these rules, with this message.";
  const rows = rules.map(({ path, message }) => [code(path), message]);
  return ["## Rules", "", intro, "", markdownTable(["field", "message"], rows), ""];
}

function scaleText({ specReplicasPath, statusReplicasPath }: NonNullable<KindDefinition["scale"]>): string {
  return `The subresource \`/scale\` maps \`spec.replicas\` to \`${specReplicasPath}\` and \`status.replicas\` to \`${statusReplicasPath}\`.`;
}
