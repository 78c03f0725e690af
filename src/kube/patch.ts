import { isDeepStrictEqual } from "node:util";

type Json = Record<string, unknown>;

/**
 * The RFC 7396 merge patch that turns `from` into `to`; undefined when they are equal. Lists are replaced whole, a
 * field that is absent in `to` becomes null.
 */
export function mergePatchOf(from: Json | undefined, to: Json): Json | undefined {
  const patch: Json = {};
  for (const [key, wanted] of Object.entries(to)) {
    const present = from?.[key];
    if (wanted === undefined) {
      if (present !== undefined) patch[key] = null;
    } else if (isRecord(wanted) && isRecord(present)) {
      const inner = mergePatchOf(present, wanted);
      if (inner !== undefined) patch[key] = inner;
    } else if (!isDeepStrictEqual(present, wanted)) {
      patch[key] = wanted;
    }
  }
  for (const key of Object.keys(from ?? {})) {
    if (!(key in to)) patch[key] = null;
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

function isRecord(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
