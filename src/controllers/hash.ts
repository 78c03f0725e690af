import { createHmac, hash } from "node:crypto";
import { isObject } from "../base/own-value.ts";

/** A slice of the 64 digits would keep all of them in memory. */
const HASH_BYTES = 8;

/** Identifies a value without showing it: 16 hex digits. Key order and undefined values do not change it. */
export function hashOf(value: unknown): string {
  return hash("sha256", canonical(value), "buffer").toString("hex", 0, HASH_BYTES);
}

/** The same with all 64 hex digits: no two values have the same, whoever chooses them. */
export function longHashOf(value: unknown): string {
  return hash("sha256", canonical(value));
}

/**
 * The same for a value that a reader of the status must not find out by trying values: texts of a job, variables of an endpoint. An
 * HMAC-SHA-256: without the key, nothing can be tried.
 */
export function keyedHashOf(value: unknown, key: string): string {
  return createHmac("sha256", key).update(canonical(value)).digest().toString("hex", 0, HASH_BYTES);
}

const canonical = (value: unknown) => JSON.stringify(inKeyOrder(value));

/** `JSON.stringify` with a replacer that sorts takes twice as long. */
function inKeyOrder(value: unknown): unknown {
  if (!isObject(value)) return value;
  if (Array.isArray(value)) return value.map(inKeyOrder);
  const sorted: Record<string, unknown> = Object.create(null);
  for (const key of Object.keys(value).sort()) sorted[key] = inKeyOrder(value[key]);
  return sorted;
}
