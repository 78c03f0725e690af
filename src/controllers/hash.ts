import { hash } from "node:crypto";

/** Identifies a value without showing it: 16 hex digits. Key order and undefined values do not change it. */
export function hashOf(value: unknown): string {
  return hash("sha256", JSON.stringify(value, sortedKeys)).slice(0, 16);
}

function sortedKeys(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
