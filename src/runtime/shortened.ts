import { createHash } from "node:crypto";
import type { KubeObject } from "../kube/types.ts";

/** Characters of JSON that a field of a spec may have in memory. */
const LONGEST_FIELD = 8 * 1024;
/** A field that no spec has: the API server drops it. */
const SHORTENED = "mooring.dev/shortened";

/** Whether fields of the spec are missing: read the object for them. */
export function isShortened({ spec }: KubeObject): boolean {
  return typeof spec === "object" && spec !== null && SHORTENED in spec;
}

/**
 * The object as it is kept in memory: without the fields of the spec that are long, such as a text of a million characters. A hash stands
 * for them, so that a change shows. The same object when nothing is long.
 */
export function shortened<T extends KubeObject>(object: T): T {
  const { spec } = object;
  if (typeof spec !== "object" || spec === null || SHORTENED in spec) return object;
  const hash = createHash("sha256");
  const short = shortenedFields(spec, hash);
  return short === spec ? object : { ...object, spec: { ...short, [SHORTENED]: hash.digest("hex") } };
}

function shortenedFields(fields: object, hash: ReturnType<typeof createHash>): object {
  const changed: [string, unknown][] = [];
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value !== "string" && (typeof value !== "object" || value === null)) continue;
    const json = JSON.stringify(value);
    if (json.length <= LONGEST_FIELD) continue;
    if (typeof value === "object" && !Array.isArray(value)) {
      const inner = shortenedFields(value, hash);
      // Many short fields are as long as a long one.
      if (inner !== value && JSON.stringify(inner).length <= LONGEST_FIELD) {
        changed.push([name, inner]);
        continue;
      }
    }
    hash.update(name).update(json);
    changed.push([name, typeof value === "string" ? "" : Array.isArray(value) ? [] : {}]);
  }
  return changed.length === 0 ? fields : { ...fields, ...Object.fromEntries(changed) };
}

/** Annotations that the operator reads: its own, and the request of flux. */
const READ_ANNOTATION = /^(mooring\.dev|reconcile\.fluxcd\.io)\//;
/** Characters of an annotation that are kept: more than any value that the operator reads has. */
const LONGEST_ANNOTATION = 2 * 1024;

/** Drops metadata that the operator does not read: users write labels and annotations of any number. */
export function dropUnreadMetadata({ metadata }: KubeObject): void {
  delete metadata.labels;
  for (const [name, value] of Object.entries(metadata.annotations ?? {})) {
    if (!READ_ANNOTATION.test(name)) delete metadata.annotations?.[name];
    else if (value.length > LONGEST_ANNOTATION) {
      Reflect.set(metadata.annotations ?? {}, name, value.slice(0, LONGEST_ANNOTATION));
    }
  }
}
