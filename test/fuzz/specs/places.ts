import type { Json, JsonValue } from "../../sim/api-server/json.ts";
import { isJson } from "../../sim/api-server/json.ts";
import type { Schema } from "../../sim/transitions/schema.ts";

/** A place of a spec. `steps`: names of fields; `[]` is an item of a list, `*` a value of a map. */
export type Place = { steps: readonly string[]; schema: Schema; isRequired: boolean };

/** Every place below a schema: fields, the items of lists and the values of maps. */
export function placesOf(schema: Schema, steps: readonly string[] = []): Place[] {
  const { properties = {}, items, additionalProperties, required = [] } = schema;
  const children = [
    ...Object.entries(properties).map(([name, one]) => ({ step: name, one, isRequired: required.includes(name) })),
    ...(items === undefined ? [] : [{ step: "[]", one: items, isRequired: true }]),
    ...(additionalProperties === undefined ? [] : [{ step: "*", one: additionalProperties, isRequired: false }]),
  ];
  return children.flatMap(({ step, one, isRequired }) => {
    const here = [...steps, step];
    return [{ steps: here, schema: one, isRequired }, ...placesOf(one, here)];
  });
}

/** `env[].name`, `paths.*`. */
export function pathOf({ steps }: Place): string {
  return steps.join(".").replaceAll(".[]", "[]");
}

/** A value that a schema accepts: the smallest one. */
export function typicalOf(schema: Schema): JsonValue {
  const { type, properties = {}, required = [], items, minimum = 1, format } = schema;
  const [first] = schema.enum ?? [];
  if (first !== undefined) return jsonOf(first);
  switch (type) {
    case "string":
      return format === "date-time" ? "2026-02-01T00:00:00Z" : "a";
    case "integer":
    case "number":
      return Math.max(1, minimum);
    case "boolean":
      return true;
    case "array":
      return items === undefined ? [] : [typicalOf(items)];
    case "object":
      return Object.fromEntries(
        Object.entries(properties)
          .filter(([name]) => required.includes(name))
          .map(([name, one]) => [name, typicalOf(one)]),
      );
  }
}

/** Where a place is in a spec. `key`: of an object, or the index of a list. */
export type Spot = { parent: Json | JsonValue[]; key: string; value: JsonValue | undefined };

/**
 * Finds a place. What is missing on the way is made, as its schema needs it.
 * @param item which item of a list, and which key of a map, modulo their number
 * @returns undefined: another edit put a value there that has no such place
 */
export function spotOf(spec: Json, root: Schema, { steps }: Place, item: number): Spot | undefined {
  let parent: JsonValue = spec;
  let schema: Schema | undefined = root;
  for (const [depth, step] of steps.entries()) {
    schema = childOf(schema, step);
    if (schema === undefined || typeof parent !== "object" || parent === null) return undefined;
    const key = keyIn(parent, step, item);
    if (key === undefined) return undefined;
    const spot: Spot = { parent, key, value: valueIn(parent, key) };
    if (depth === steps.length - 1) return spot;
    if (spot.value === undefined) setIn(spot, emptyOf(schema));
    const next = valueIn(parent, key);
    if (next === undefined) return undefined;
    parent = next;
  }
  return undefined;
}

/** Sets, or with undefined removes, the value of a spot. */
export function setIn({ parent, key }: Pick<Spot, "parent" | "key">, value: JsonValue | undefined): void {
  if (value !== undefined) {
    Object.defineProperty(parent, key, { value, enumerable: true, configurable: true, writable: true });
  } else if (Array.isArray(parent)) parent.splice(Number(key), 1);
  else delete parent[key];
}

/** Parses a value of a schema, which came from a file. */
export function jsonOf(value: unknown): JsonValue {
  return JSON.parse(JSON.stringify(value) ?? "null");
}

function childOf(schema: Schema | undefined, step: string): Schema | undefined {
  if (step === "[]") return schema?.items;
  if (step === "*") return schema?.additionalProperties;
  return schema?.properties?.[step];
}

/** A list or a map that is made on the way to a place gets its first value there. */
function emptyOf(schema: Schema): JsonValue {
  const typical = typicalOf(schema);
  return Array.isArray(typical) ? [] : typical;
}

function keyIn(parent: Json | JsonValue[], step: string, item: number): string | undefined {
  if (step === "[]") return Array.isArray(parent) ? String(parent.length === 0 ? 0 : item % parent.length) : undefined;
  if (!isJson(parent)) return undefined;
  if (step !== "*") return step;
  const keys = Object.keys(parent);
  return keys[item % Math.max(1, keys.length)] ?? "key";
}

function valueIn(parent: Json | JsonValue[], key: string): JsonValue | undefined {
  if (!Object.hasOwn(parent, key)) return undefined;
  return Array.isArray(parent) ? parent[Number(key)] : parent[key];
}
