import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

type Schema = {
  type?: string;
  format?: string;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema;
  items?: Schema;
  required?: string[];
  enum?: unknown[];
  minLength?: number;
  maxLength?: number;
  maxItems?: number;
  minimum?: number;
  maximum?: number;
  "x-kubernetes-list-map-keys"?: string[];
};

/** RFC 3339 as the API server accepts it for `format: date-time`. */
const DATE_TIME = /^\d{4}-(0\d|1[0-2])-([0-2]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

/** The schema of `status` in crds/, the file that the API server gets. */
export function statusSchemaOf(plural: string): Schema {
  const known = schemas.get(plural) ?? readSchema(plural);
  schemas.set(plural, known);
  return known;
}
const schemas = new Map<string, Schema>();

function readSchema(plural: string): Schema {
  const file = join(import.meta.dirname, `../../crds/mooring.dev_${plural}.yaml`);
  const crd = parse(readFileSync(file, "utf8")) as {
    spec: { versions: { schema: { openAPIV3Schema: { properties: { status: Schema } } } }[] };
  };
  const schema = crd.spec.versions[0]?.schema.openAPIV3Schema.properties.status;
  if (schema === undefined) throw new Error(`${plural}: no schema`);
  return schema;
}

/**
 * Why the API server would refuse a value: the path and the rule of each breach. Checks every keyword that the status schemas
 * of crds/ use, and fails for a field that the schema does not have, because the API server would drop it.
 */
export function breachesOf(schema: Schema, value: unknown, path = "status"): string[] {
  if (value === undefined) return [];
  if (schema.enum !== undefined && !schema.enum.includes(value))
    return [`${path}: ${String(value)} is not in the enum`];
  switch (schema.type) {
    case "string":
      return typeof value === "string" ? stringBreaches(schema, value, path) : [`${path}: no string`];
    case "integer":
      return Number.isInteger(value) ? numberBreaches(schema, Number(value), path) : [`${path}: no integer: ${value}`];
    case "number":
      return Number.isFinite(value) ? numberBreaches(schema, Number(value), path) : [`${path}: no number: ${value}`];
    case "boolean":
      return typeof value === "boolean" ? [] : [`${path}: no boolean`];
    case "array":
      return Array.isArray(value) ? listBreaches(schema, value, path) : [`${path}: no list`];
    default:
      return objectBreaches(schema, value, path);
  }
}

function stringBreaches(
  { minLength = 0, maxLength = Infinity, format }: Schema,
  value: string,
  path: string,
): string[] {
  // The API server counts code points; what JSON cannot carry arrives as another character.
  const length = [...value].length;
  return [
    ...(length < minLength || length > maxLength ? [`${path}: ${length} characters`] : []),
    ...(format === "date-time" && (!DATE_TIME.test(value) || Number.isNaN(Date.parse(value)))
      ? [`${path}: ${value} is no date-time`]
      : []),
    ...(/[\p{Cc}\p{Cf}\p{Cs}]/u.test(value) ? [`${path}: control characters`] : []),
  ];
}

function numberBreaches({ minimum = -Infinity, maximum = Infinity, format }: Schema, value: number, path: string) {
  const [low, high] =
    format === "int32" ? [-(2 ** 31), 2 ** 31 - 1] : [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];
  const fits = value >= Math.max(minimum, low) && value <= Math.min(maximum, high);
  return fits ? [] : [`${path}: ${value} is out of range`];
}

function listBreaches(schema: Schema, list: unknown[], path: string): string[] {
  const { items = {}, maxItems = Infinity, "x-kubernetes-list-map-keys": keys } = schema;
  const ids = list.map((item) => JSON.stringify(keys?.map((key) => Reflect.get(Object(item), key))));
  return [
    ...(list.length > maxItems ? [`${path}: ${list.length} items`] : []),
    ...(keys !== undefined && new Set(ids).size < ids.length ? [`${path}: duplicate keys`] : []),
    ...list.flatMap((item, index) => breachesOf(items, item, `${path}[${index}]`)),
  ];
}

function objectBreaches(schema: Schema, value: unknown, path: string): string[] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [`${path}: no object`];
  const { properties = {}, required = [], additionalProperties } = schema;
  return [
    ...required.filter((key) => Reflect.get(value, key) === undefined).map((key) => `${path}.${key}: required`),
    ...Object.entries(value).flatMap(([key, one]) => {
      const field = Object.hasOwn(properties, key) ? properties[key] : additionalProperties;
      return field === undefined ? [`${path}.${key}: unknown field`] : breachesOf(field, one, `${path}.${key}`);
    }),
  ];
}
