import { createHash } from "node:crypto";

/** Identifies a request body without showing it: 16 hex digits. */
export function hashOf(body: unknown): string {
  return createHash("sha256").update(JSON.stringify(body)).digest("hex").slice(0, 16);
}
