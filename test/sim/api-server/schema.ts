import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { ownValue } from "../../../src/base/own-value.ts";
import { isJson, type Json, type JsonValue } from "./json.ts";

/** A structural schema (apiextensions.k8s.io/v1 JSONSchemaProps), as far as our CRDs use it. */
type Schema = {
  type?: string | undefined;
  default?: JsonValue | undefined;
  enum?: JsonValue[] | undefined;
  properties?: Record<string, Schema> | undefined;
  additionalProperties?: Schema | boolean | undefined;
  items?: Schema | undefined;
  required?: string[] | undefined;
  maxLength?: number | undefined;
  minLength?: number | undefined;
  pattern?: string | undefined;
  maxItems?: number | undefined;
  minItems?: number | undefined;
  maximum?: number | undefined;
  minimum?: number | undefined;
  exclusiveMinimum?: boolean | undefined;
  maxProperties?: number | undefined;
  format?: string | undefined;
  "x-kubernetes-preserve-unknown-fields"?: boolean | undefined;
  "x-kubernetes-list-type"?: string | undefined;
  "x-kubernetes-list-map-keys"?: string[] | undefined;
};

const schema: z.ZodType<Schema> = z.lazy(() =>
  z.object({
    type: z.string().optional(),
    default: z.json().optional(),
    enum: z.array(z.json()).optional(),
    properties: z.record(z.string(), schema).optional(),
    additionalProperties: z.union([schema, z.boolean()]).optional(),
    items: schema.optional(),
    required: z.array(z.string()).optional(),
    maxLength: z.number().optional(),
    minLength: z.number().optional(),
    pattern: z.string().optional(),
    maxItems: z.number().optional(),
    minItems: z.number().optional(),
    maximum: z.number().optional(),
    minimum: z.number().optional(),
    exclusiveMinimum: z.boolean().optional(),
    maxProperties: z.number().optional(),
    format: z.string().optional(),
    "x-kubernetes-preserve-unknown-fields": z.boolean().optional(),
    "x-kubernetes-list-type": z.string().optional(),
    "x-kubernetes-list-map-keys": z.array(z.string()).optional(),
  }),
);

const definition = z.object({
  spec: z.object({
    group: z.string(),
    names: z.object({ plural: z.string(), kind: z.string() }),
    scope: z.enum(["Namespaced", "Cluster"]),
    versions: z.array(z.object({ name: z.string(), schema: z.object({ openAPIV3Schema: schema }) })),
  }),
});

/** What the API server does with objects of a kind. */
export type KindRules = {
  group: string;
  version: string;
  plural: string;
  kind: string;
  namespaced: boolean;
  /** Custom resources count generations, and a write of the object keeps the status as it is. */
  custom: boolean;
  /** Drops unknown fields and fills in defaults. */
  normalized(object: Json): Json;
  /** What is wrong with an object; empty when it is valid. CEL rules are not evaluated. */
  problems(object: Json): string[];
};

const CRDS = join(import.meta.dirname, "../../../crds");

/** The rules of Mooring's kinds, from the CRDs that are installed in a cluster. */
export function customKinds(): KindRules[] {
  return readdirSync(CRDS)
    .filter((name) => name.endsWith(".yaml"))
    .map((name) => {
      const { group, names, scope, versions } = definition.parse(parse(readFileSync(join(CRDS, name), "utf8"))).spec;
      const [version] = versions;
      if (version === undefined) throw new Error(`${name} has no version`);
      const root = version.schema.openAPIV3Schema;
      return {
        group,
        version: version.name,
        ...names,
        namespaced: scope === "Namespaced",
        custom: true,
        normalized: (object) => ({ ...normalizedObject(object, root), metadata: object["metadata"] ?? {} }),
        problems: (object) => problemsOf(object, root, ""),
      };
    });
}

/** The rules of a kind that the API server itself defines. */
export function plainKind(kind: Pick<KindRules, "group" | "version" | "plural" | "kind" | "namespaced">): KindRules {
  return { ...kind, custom: false, normalized: (object) => object, problems: () => [] };
}

function normalizedObject(object: Json, rules: Schema): Json {
  const { properties = {}, additionalProperties } = rules;
  const keepsUnknown = additionalProperties === true || rules["x-kubernetes-preserve-unknown-fields"] === true;
  const result: Json = {};
  for (const [key, value] of Object.entries(object)) {
    const inner =
      ownValue(properties, key) ?? (typeof additionalProperties === "object" ? additionalProperties : undefined);
    // A null is dropped only where a default takes its place.
    if (value === null && inner?.default !== undefined) continue;
    if (inner !== undefined) setOwn(result, key, normalized(value, inner));
    else if (keepsUnknown) setOwn(result, key, value);
  }
  for (const [key, inner] of Object.entries(properties)) {
    if (result[key] === undefined && inner.default !== undefined) result[key] = normalized(inner.default, inner);
  }
  return result;
}

function normalized(value: JsonValue, rules: Schema): JsonValue {
  const { items } = rules;
  if (Array.isArray(value)) return items === undefined ? value : value.map((item) => normalized(item, items));
  return isJson(value) && rules.type === "object" ? normalizedObject(value, rules) : value;
}

function problemsOf(value: JsonValue, rules: Schema, path: string): string[] {
  if (!hasType(value, rules.type)) return [`${path}: must be of type ${rules.type}`];
  const found: string[] = [];
  const bound = (what: string, size: number, [least, most]: [number | undefined, number | undefined]) => {
    if (least !== undefined && size < least) found.push(`${path}: ${what} must be at least ${least}`);
    if (most !== undefined && size > most) found.push(`${path}: ${what} must be at most ${most}`);
  };
  if (rules.enum !== undefined && !rules.enum.includes(value)) found.push(`${path}: unsupported value`);
  if (typeof value === "number") bound("value", value, [rules.minimum, rules.maximum]);
  if (rules.exclusiveMinimum === true && value === rules.minimum) {
    found.push(`${path}: value must be above ${rules.minimum}`);
  }
  if (typeof value === "string") {
    bound("length", [...value].length, [rules.minLength, rules.maxLength]);
    if (rules.pattern !== undefined && !compiled(rules.pattern).test(value)) found.push(`${path}: pattern`);
  }
  if (rules.format === "date-time" && !isDateTime(value)) found.push(`${path}: must be a date-time`);
  if (Array.isArray(value)) {
    found.push(...repetitionsIn(value, rules, path));
    bound("items", value.length, [rules.minItems, rules.maxItems]);
    const { items } = rules;
    if (items !== undefined)
      for (const [i, item] of value.entries()) found.push(...problemsOf(item, items, `${path}[${i}]`));
  }
  return isJson(value) ? [...found, ...objectProblems(value, rules, path)] : found;
}

const patterns = new Map<string, RegExp>();

function compiled(pattern: string): RegExp {
  const known = patterns.get(pattern) ?? new RegExp(pattern, "u");
  patterns.set(pattern, known);
  return known;
}

function objectProblems(value: Json, rules: Schema, path: string): string[] {
  const found: string[] = [];
  for (const key of rules.required ?? []) if (value[key] === undefined) found.push(`${path}.${key}: Required value`);
  if (rules.maxProperties !== undefined && Object.keys(value).length > rules.maxProperties) {
    found.push(`${path}: must have at most ${rules.maxProperties} properties`);
  }
  for (const [key, child] of Object.entries(value)) {
    const { additionalProperties } = rules;
    const inner =
      ownValue(rules.properties, key) ?? (typeof additionalProperties === "object" ? additionalProperties : undefined);
    if (inner !== undefined) found.push(...problemsOf(child, inner, `${path}.${key}`));
  }
  return found;
}

/** RFC 3339, as the API server accepts it. */
const DATE_TIME = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;

function isDateTime(value: JsonValue): boolean {
  if (typeof value !== "string" || !DATE_TIME.test(value) || Number.isNaN(Date.parse(value))) return false;
  // JavaScript reads February 30 as March 2.
  const day = value.slice(0, 10);
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day);
}

/** Items of a list whose keys, or whose values, must be unique. */
function repetitionsIn(list: readonly JsonValue[], rules: Schema, path: string): string[] {
  const keys = rules["x-kubernetes-list-map-keys"];
  if (keys === undefined && rules["x-kubernetes-list-type"] !== "set") return [];
  const seen = new Set<string>();
  return list.flatMap((item, i) => {
    const id = JSON.stringify(
      keys === undefined ? item : keys.map((key) => (isJson(item) ? (item[key] ?? null) : null)),
    );
    const isRepeated = seen.has(id);
    seen.add(id);
    return isRepeated ? [`${path}[${i}]: Duplicate value`] : [];
  });
}

/** Also for names such as `__proto__`, which assignment does not store. */
function setOwn(object: Json, key: string, value: JsonValue): void {
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}

function hasType(value: JsonValue, type: string | undefined): boolean {
  switch (type) {
    case "object":
      return isJson(value);
    case "array":
      return Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    case "number":
    case "string":
    case "boolean":
      return typeof value === type;
    default:
      return true;
  }
}
