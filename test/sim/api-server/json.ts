/** A JSON object. */
export type Json = { [key: string]: JsonValue };
export type JsonValue = null | boolean | number | string | JsonValue[] | Json;

export function isJson(value: JsonValue | undefined): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The object at a key, or an empty one. */
export function objectAt(value: JsonValue | undefined, key: string): Json {
  const child = isJson(value) ? value[key] : undefined;
  return isJson(child) ? child : {};
}

export function textAt(value: JsonValue | undefined, key: string): string | undefined {
  const child = isJson(value) ? value[key] : undefined;
  return typeof child === "string" ? child : undefined;
}

/** RFC 7396. */
export function mergePatched(target: JsonValue | undefined, patch: JsonValue): JsonValue {
  if (!isJson(patch)) return patch;
  const result: Json = isJson(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = mergePatched(result[key], value);
  }
  return result;
}

/** Parses what a request or a file holds. */
export function parseJson(text: string): JsonValue {
  const value: JsonValue = JSON.parse(text);
  return value;
}
