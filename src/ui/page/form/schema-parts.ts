import type { FieldSchema } from "../../view-types.ts";

/** The fields that a form shows first, and the others. Required fields are first. `paths`: below the schema. */
export function partsOf(schema: FieldSchema, paths: readonly string[]): { first: FieldSchema; rest: FieldSchema } {
  const { properties = {}, required = [] } = schema;
  const first: Record<string, FieldSchema> = {};
  const rest: Record<string, FieldSchema> = {};
  for (const [name, field] of Object.entries(properties)) {
    const below = paths.flatMap((path) => (path.startsWith(`${name}.`) ? [path.slice(name.length + 1)] : []));
    if (paths.includes(name) || (required.includes(name) && below.length === 0)) first[name] = field;
    else if (below.length === 0) rest[name] = field;
    else {
      const parts = partsOf(field, below);
      first[name] = parts.first;
      if (Object.keys(parts.rest.properties ?? {}).length > 0) rest[name] = parts.rest;
    }
  }
  const order = [...paths.map((path) => path.split(".", 1)[0] ?? ""), ...Object.keys(first)];
  const sorted = Object.fromEntries(
    [...new Set(order)].flatMap((name) => (first[name] === undefined ? [] : [[name, first[name]]])),
  );
  return { first: { ...schema, properties: sorted }, rest: { ...schema, properties: rest } };
}

/** Without the groups of which another one is chosen. */
export function withoutGroups(schema: FieldSchema, groups: readonly string[], chosen: string): FieldSchema {
  const kept = Object.entries(schema.properties ?? {}).filter(([name]) => name === chosen || !groups.includes(name));
  return { ...schema, properties: Object.fromEntries(kept) };
}
