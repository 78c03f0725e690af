import * as z from "zod";

/** A string of `min` to `max` characters. A character is a Unicode code point. */
export const text = (min: number, max: number) =>
  z
    .string()
    .refine((value) => inRange([...value].length, min, max), { error: `must have ${min} to ${max} characters` });

/** An integer in a query. It arrives as text. */
export const queryInteger = z
  .string()
  .regex(/^-?\d{1,19}$/, "must be an integer")
  .transform(Number);

export function inRange(value: number, min: number, max: number): boolean {
  return value >= min && value <= max;
}
