import { isRecord, ownValue } from "../base/own-value.ts";
import { isSameJSON } from "../base/same-json.ts";

type Json = Record<string, unknown>;

/**
 * The RFC 7396 merge patch that turns `from` into `to`; undefined when they are equal. Lists are replaced whole, a
 * field that is absent in `to` becomes null.
 */
export function mergePatchOf(from: Json | undefined, to: Json): Json | undefined {
  let patch: Json | undefined;
  const put = (key: string, value: unknown) => {
    // Without a prototype: `__proto__` is a field like any other.
    patch ??= Object.create(null) as Json;
    patch[key] = value;
  };
  for (const key of Object.keys(to)) {
    const wanted = ownValue(to, key);
    const present = ownValue(from, key);
    if (wanted === present) continue;
    if (wanted === undefined) {
      put(key, null);
    } else if (isRecord(wanted) && isRecord(present)) {
      const inner = mergePatchOf(present, wanted);
      if (inner !== undefined) put(key, inner);
    } else if (!isSameJSON(present, wanted)) {
      put(key, wanted);
    }
  }
  for (const key of Object.keys(from ?? {})) {
    if (!Object.hasOwn(to, key)) put(key, null);
  }
  return patch;
}
