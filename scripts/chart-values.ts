import { isMap, isScalar, type Pair, parseDocument, type YAMLMap } from "yaml";
import { code, markdownTable } from "./reference/table.ts";

/** A value of the chart, or a group of them. */
export type ChartValue = {
  path: string;
  /** The comment above it in values.yaml; "" without one. */
  description: string;
  /** As JSON; undefined: a group. */
  fallback: string | undefined;
};

type Schema = { description?: string; properties?: Record<string, Schema>; [keyword: string]: unknown };

/** Every value in the order of values.yaml. A map is a group if the schema names what is in it. */
export function chartValues(valuesYaml: string, schema: Schema): ChartValue[] {
  const { contents } = parseDocument(valuesYaml);
  return isMap(contents) ? valuesOf(contents, schema, "") : [];
}

function valuesOf(map: YAMLMap, schema: Schema, prefix: string): ChartValue[] {
  return map.items.flatMap((pair, index) => {
    const name = isScalar(pair.key) ? String(pair.key.value) : "";
    const path = `${prefix}${name}`;
    // The parser takes the comment above the first key of a nested map as that of the map.
    const description = lastParagraph(commentOf(pair) ?? (index === 0 ? map.commentBefore : undefined) ?? "");
    const inner = schema.properties?.[name];
    if (inner?.properties === undefined || !isMap(pair.value)) {
      return [{ path, description, fallback: JSON.stringify(toJson(pair.value)) }];
    }
    return [{ path, description, fallback: undefined }, ...valuesOf(pair.value, inner, `${path}.`)];
  });
}

const commentOf = ({ key }: Pair) => (isScalar(key) ? key.commentBefore : undefined);

function toJson(node: unknown): unknown {
  return typeof node === "object" && node !== null && "toJSON" in node && typeof node.toJSON === "function"
    ? node.toJSON()
    : node;
}

/** A comment belongs to the value below it; what a blank line parts from it does not. */
function lastParagraph(comment: string): string {
  const lines = comment.split("\n").map((line) => line.trim());
  return lines
    .slice(lines.lastIndexOf("") + 1)
    .join(" ")
    .trim();
}

/** The schema with the descriptions of values.yaml. What is not there, such as the values of a parent chart, has its own. */
export function withDescriptions(schemaText: string, valuesYaml: string): string {
  const schema: Schema = JSON.parse(schemaText);
  const found = new Map(chartValues(valuesYaml, schema).map(({ path, description }) => [path, description]));
  return `${JSON.stringify(described(schema, found, ""), null, 2)}\n`;
}

function described(schema: Schema, found: ReadonlyMap<string, string>, path: string): Schema {
  const { description: _, properties, ...rest } = schema;
  const description = found.get(path) ?? schema.description;
  const inner = Object.entries(properties ?? {}).map(([name, value]) => [
    name,
    described(value, found, path === "" ? name : `${path}.${name}`),
  ]);
  return {
    ...(description ? { description } : {}),
    ...rest,
    ...(properties === undefined ? {} : { properties: Object.fromEntries(inner) }),
  };
}

/** The table of the chart's README. */
export function valuesTable(values: readonly ChartValue[]): string {
  const rows = values
    .filter(({ fallback, description }) => fallback !== undefined || description !== "")
    .map(({ path, fallback, description }) => [code(path), code(fallback ?? ""), description]);
  return markdownTable(["value", "default", "meaning"], rows);
}
