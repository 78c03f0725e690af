import { createHash } from "node:crypto";
import { isObject } from "../base/own-value.ts";
import type { KubeObject } from "../kube/types.ts";

/** Characters of JSON that a field of a spec may have in memory. */
const LONGEST_FIELD = 8 * 1024;
/** Characters of the longest number. */
const MOST_OF_A_NUMBER = 25;
/** Marks a shortened spec. No schema has this field, so the API server drops it from a write. */
const SHORTENED = "mooring.dev/shortened";

/** Whether long fields of the spec are missing. Read the object from the API server to get them. */
export function isShortened({ spec }: KubeObject): boolean {
  return typeof spec === "object" && spec !== null && SHORTENED in spec;
}

/**
 * The object as the process keeps it in memory: without long fields of the spec, such as a text of a million characters. A hash of these
 * fields replaces them, so that a changed value makes a changed object. Returns the same object when no field is long.
 */
export function shortened<T extends KubeObject>(object: T): T {
  const { spec } = object;
  if (!isObject(spec) || SHORTENED in spec) return object;
  const dropped: string[] = [];
  const short = shortenedFields(spec, dropped);
  if (short === spec) return object;
  const hash = createHash("sha256");
  for (const text of dropped) hash.update(text);
  return { ...object, spec: { ...short, [SHORTENED]: hash.digest("hex") } };
}

/** `dropped`: gets the names and the values of the fields that are missing. */
function shortenedFields(fields: Record<string, unknown>, dropped: string[]): object {
  const changed: [string, unknown][] = [];
  for (const name of Object.keys(fields)) {
    const value = fields[name];
    if (mostCharacters(value) <= LONGEST_FIELD) continue;
    const json = JSON.stringify(value);
    if (json.length <= LONGEST_FIELD) continue;
    if (isObject(value) && !Array.isArray(value)) {
      const inner = shortenedFields(value, dropped);
      // The short fields of an object can exceed the limit together.
      if (inner !== value && JSON.stringify(inner).length <= LONGEST_FIELD) {
        changed.push([name, inner]);
        continue;
      }
    }
    dropped.push(name, json);
    changed.push([name, typeof value === "string" ? "" : Array.isArray(value) ? [] : {}]);
  }
  return changed.length === 0 ? fields : { ...fields, ...Object.fromEntries(changed) };
}

/** What the JSON of a value has at most, counted without making it: nearly every field of nearly every spec is short. */
function mostCharacters(value: unknown): number {
  // Each character can be escaped as six.
  if (typeof value === "string") return 2 + 6 * value.length;
  if (!isObject(value)) return MOST_OF_A_NUMBER;
  let sum = 2;
  for (const name of Object.keys(value)) sum += 4 + 6 * name.length + mostCharacters(value[name]);
  return sum;
}

/** Marks an object that lacks fields of its status. Copies of the object have the mark too; JSON has none. */
const PARTIAL = Symbol("partial");

export function markPartial(object: KubeObject): void {
  Reflect.set(object, PARTIAL, true);
}

/** Whether the object lacks fields of its spec and its status: nobody may reconcile it, or replace its status by what it has. */
export const isPartial = (object: KubeObject): boolean => PARTIAL in object;

/** Annotations that the operator reads: its own, and the request of flux. */
const READ_ANNOTATION = /^(mooring\.dev|reconcile\.fluxcd\.io)\//;
/** Characters of an annotation that are kept: more than any value that the operator reads has. The record of a create has up to 15,500. */
const LONGEST_ANNOTATION = 16 * 1024;

/** Drops metadata that the operator does not read: users can write any number of labels and annotations. With copies, as `compact`. */
export function dropUnreadMetadata(object: KubeObject): void {
  if (object.metadata.labels !== undefined) {
    const { labels: _, ...metadata } = object.metadata;
    object.metadata = metadata;
  }
  const annotations = Object.entries(object.metadata.annotations ?? {});
  const read = annotations.filter(([name]) => READ_ANNOTATION.test(name));
  if (read.length < annotations.length || read.some(([, value]) => value.length > LONGEST_ANNOTATION)) {
    const short = read.map(([name, value]) => [name, value.slice(0, LONGEST_ANNOTATION)]);
    object.metadata.annotations = Object.fromEntries(short);
  }
}
