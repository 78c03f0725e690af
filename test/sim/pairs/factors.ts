import { coveringArray, type Row } from "./covering-array.ts";
import type { Factor, Value } from "./factor.ts";
import { ENDPOINT_FACTORS } from "./factors/endpoints.ts";
import { SERVICE_FACTORS } from "./factors/service.ts";
import { TASK_FACTORS } from "./factors/tasks.ts";

/** Every behavior that the interface leaves open. */
export const FACTORS: readonly Factor[] = [...SERVICE_FACTORS, ...ENDPOINT_FACTORS, ...TASK_FACTORS];

export const LEVELS = FACTORS.map(({ values }) => values.length);

/** Rows that contain every pair of values. */
export const ROWS: readonly Row[] = coveringArray(LEVELS);

/** The values of a row that are no defaults, with the names of their factors. */
export function switchesOf(row: Row): Value[] {
  return FACTORS.flatMap(({ name, values }, index) => {
    const value = row[index] === 0 ? undefined : values[row[index] ?? 0];
    return value === undefined ? [] : [{ ...value, name: `${name}: ${value.name}` }];
  });
}
