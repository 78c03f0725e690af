/**
 * The value of a key from outside input: undefined unless the record itself has it. `record[key]` would also find what every
 * object inherits, such as `constructor`, `toString` and `__proto__`, which are valid keys of Secrets and labels.
 */
export function ownValue<T>(record: Readonly<Record<string, T>> | undefined, key: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined;
}

/** Of JSON: an object or a list. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

/** Of JSON: an object that is no list. */
export const isRecord = (value: unknown): value is Record<string, unknown> => isObject(value) && !Array.isArray(value);
