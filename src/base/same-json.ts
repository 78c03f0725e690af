import { isObject } from "./own-value.ts";

/** Whether two values of JSON are equal, whatever the order of their fields. A field that is `undefined` is not an absent one. */
export function isSameJSON(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (!isObject(a) || !isObject(b)) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  for (const key of keys) {
    if (!Object.hasOwn(b, key) || !isSameJSON(a[key], b[key])) return false;
  }
  return true;
}
