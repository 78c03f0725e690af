import type * as z from "zod";
import { refuse } from "./refusal.ts";

/** Parses a query or body with a schema. @throws Refusal that names every field that breaks a rule */
export function checked<S extends z.ZodType>(
  schema: S,
  value: unknown,
  unknownFields: "Refuse" | "Ignore",
): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const { issues } = result.error;
  const unknown = issues.filter((issue) => issue.code === "unrecognized_keys");
  if (unknownFields === "Ignore" && unknown.length > 0) {
    const copy: unknown = structuredClone(value);
    for (const issue of unknown) drop(copy, issue.path, issue.keys);
    return checked(schema, copy, unknownFields);
  }
  throw refuse.invalid(
    issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`.replace(/^: /, "")).join("; "),
  );
}

function drop(root: unknown, path: PropertyKey[], keys: string[]): void {
  const target = path.reduce<unknown>(
    (value, key) => (typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined),
    root,
  );
  if (typeof target !== "object" || target === null) return;
  for (const key of keys) Reflect.deleteProperty(target, key);
}

/** Whether a value is a JSON object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
