import type { Assumptions } from "./assumptions.ts";
import { isRecord } from "./validate.ts";

/** What the interface promises in every response. */
const PROMISED = new Set(["data", "endpoints", "bills", "key_budgets", "next_cursor", "id", "task_id", "audio"]);

/** Returns an outcome whose records show empty values and numbers as the assumptions say. */
export function recordShape<T extends { body: unknown }>(
  outcome: T,
  { emptyValues, numbersAs }: Pick<Assumptions, "emptyValues" | "numbersAs">,
): T {
  if (emptyValues === "Shown" && numbersAs === "Numbers") return outcome;
  return { ...outcome, body: shaped(outcome.body) };

  function shaped(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(shaped);
    if (isRecord(value)) return Object.fromEntries(Object.entries(value).flatMap(shapedField));
    return typeof value === "number" && numbersAs === "Texts" ? String(value) : value;
  }

  function shapedField([name, value]: [string, unknown]): [string, unknown][] {
    const empty = value === "" || (Array.isArray(value) && value.length === 0);
    if (!empty || PROMISED.has(name) || emptyValues === "Shown") return [[name, shaped(value)]];
    return emptyValues === "Null" ? [[name, null]] : [];
  }
}
