import type * as z from "zod";
import { isRecord, ownValue } from "../../base/own-value.ts";
import { structuralSchema } from "../schema/structural.ts";
import { IN_OUR_WORDS } from "../schema/wording.ts";
import { KINDS } from "../v1alpha1/kinds.ts";
import { API_VERSION, GROUP } from "../v1alpha1/meta.ts";

/** What is wrong with a manifest. `path`: keys and indexes from the root; the value there need not exist. */
export type ManifestProblem = { path: (string | number)[]; message: string };

const OBJECT_NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const NAME_LENGTH = 253;
const ROOT_FIELDS = ["apiVersion", "kind", "metadata", "spec", "status"];

/**
 * What the API server refuses in an object of Mooring, as far as one manifest shows it: schema, rules, and fields
 * that do not exist (as kubectl's validation). Rules about a stored object (immutable fields) are not checked.
 * @returns undefined for an object of another group
 */
export function manifestProblems(object: unknown): ManifestProblem[] | undefined {
  if (!isRecord(object)) return [{ path: [], message: "is no object: expected apiVersion, kind, metadata and spec" }];
  const { apiVersion, kind, metadata, spec } = object;
  if (typeof apiVersion !== "string" || typeof kind !== "string") {
    const path = typeof apiVersion === "string" ? ["kind"] : ["apiVersion"];
    return [{ path, message: "is missing or no text: every manifest needs apiVersion and kind" }];
  }
  if (apiVersion.split("/")[0] !== GROUP) return undefined;
  if (apiVersion !== API_VERSION)
    return [{ path: ["apiVersion"], message: `${apiVersion} is not served: use ${API_VERSION}` }];
  const definition = KINDS.find(({ resource }) => resource.kind === kind);
  if (definition === undefined) {
    return [{ path: ["kind"], message: `there is no kind ${JSON.stringify(kind)}: ${knownKind(kind)}` }];
  }
  const problems: ManifestProblem[] = Object.keys(object)
    .filter((field) => !ROOT_FIELDS.includes(field))
    .map((field) => ({ path: [field], message: unknown(field, ROOT_FIELDS) }));
  problems.push(...metadataProblems(metadata, definition.resource.namespaced));
  if (spec === undefined || spec === null) return [...problems, { path: ["spec"], message: "is missing" }];
  problems.push(...unknownFields(spec, structuralOf(definition.spec), ["spec"]));
  return [...problems, ...schemaProblems(definition.spec, spec)];
}

const structural = new WeakMap<z.ZodType, Record<string, unknown>>();

/** Made once for each schema: a batch checks 100,000 objects. */
function structuralOf(schema: z.ZodType): Record<string, unknown> {
  const known = structural.get(schema) ?? structuralSchema(schema);
  structural.set(schema, known);
  return known;
}

function knownKind(written: string): string {
  const known = KINDS.map(({ resource }) => resource.kind);
  const meant = closestName(written, known);
  return meant === undefined ? `use one of ${known.join(", ")}` : `did you mean ${meant}?`;
}

function metadataProblems(metadata: unknown, namespaced: boolean): ManifestProblem[] {
  if (!isRecord(metadata)) return [{ path: ["metadata"], message: "is missing: it needs a name" }];
  const { name, generateName, namespace } = metadata;
  const problems: ManifestProblem[] = [];
  if (name === undefined && generateName === undefined) {
    problems.push({ path: ["metadata", "name"], message: "is missing" });
  } else if (name !== undefined && (typeof name !== "string" || name.length > NAME_LENGTH || !OBJECT_NAME.test(name))) {
    problems.push({
      path: ["metadata", "name"],
      message: `${JSON.stringify(name)} must be lower-case letters, digits, '-' and '.', at most ${NAME_LENGTH} characters`,
    });
  }
  if (namespace !== undefined && !namespaced) {
    problems.push({ path: ["metadata", "namespace"], message: "this kind has no namespace: remove it" });
  }
  return problems;
}

/** What a schema with its rules refuses of a spec. Fields that it does not know are no problem. */
export function schemaProblems(schema: z.ZodType, spec: unknown): ManifestProblem[] {
  const parsed = schema.safeParse(withoutNulls(spec), IN_OUR_WORDS);
  if (parsed.success) return [];
  return parsed.error.issues
    .filter(({ code }) => code !== "unrecognized_keys") // reported as unknown fields
    .map(({ path, message }) => ({
      path: ["spec", ...path.map((part) => (typeof part === "number" ? part : String(part)))],
      message,
    }));
}

/** Without nulls, which the API server drops before it validates. Returns `value` itself when nothing in it is null. */
function withoutNulls(value: unknown): unknown {
  if (!hasNull(value)) return value;
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isRecord(value)) return value;
  const kept = Object.entries(value).filter(([, field]) => field !== null);
  return Object.fromEntries(kept.map(([key, field]) => [key, withoutNulls(field)]));
}

function hasNull(value: unknown): boolean {
  if (typeof value !== "object") return false;
  return value === null || Object.values(value).some(hasNull);
}

function unknownFields(value: unknown, schema: Record<string, unknown>, path: (string | number)[]): ManifestProblem[] {
  const { properties, items, additionalProperties } = schema;
  if (Array.isArray(value) && isRecord(items)) {
    return value.flatMap((item, index) => unknownFields(item, items, [...path, index]));
  }
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([key, field]) => {
    const here = [...path, key];
    if (isRecord(additionalProperties)) return unknownFields(field, additionalProperties, here);
    if (!isRecord(properties)) return [];
    const known = ownValue(properties, key);
    return isRecord(known)
      ? unknownFields(field, known, here)
      : [{ path: here, message: unknown(key, Object.keys(properties)) }];
  });
}

function unknown(key: string, known: readonly string[]): string {
  const meant = closestName(key, known);
  return meant === undefined ? "unknown field" : `unknown field: did you mean ${meant}?`;
}

/** A short name is close to many others, so fewer letters may differ. */
const LETTERS_PER_TYPO = 4;
const MOST_TYPOS = 3;

/** The one of `known` that `written` probably means. @returns undefined if none is close */
export function closestName(written: string, known: readonly string[]): string | undefined {
  const plain = plainName(written);
  const limit = Math.min(MOST_TYPOS, Math.floor(plain.length / LETTERS_PER_TYPO));
  const [best] = known
    .map((name) => ({ name, typos: distance(plain, plainName(name)) }))
    .filter(({ typos }) => typos <= limit)
    .sort((a, b) => a.typos - b.typos);
  return best?.name;
}

/** Without what spellings of the same words differ in: `health_check` and `healthCheck`. */
function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[-_. ]/g, "");
}

/** Letters to add, remove, replace or swap with their neighbor (optimal string alignment). */
function distance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, column) => column)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(rows, i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swaps = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = swaps ? at(rows, i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY;
      row.push(Math.min(at(rows, i - 1, j) + 1, (row[j - 1] ?? 0) + 1, replaced, swapped));
    }
    rows.push(row);
  }
  return at(rows, a.length, b.length);
}

function at(rows: readonly (readonly number[])[], i: number, j: number): number {
  return rows[i]?.[j] ?? Number.POSITIVE_INFINITY;
}
