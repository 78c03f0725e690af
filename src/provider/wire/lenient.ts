import * as z from "zod";

/**
 * Readers for what the service answers. The interface shows the same value as a string in one place and as an integer in
 * another (ports, timeouts, money), so every scalar is read by the same few rules here and nowhere else:
 * a value that cannot be read counts as absent, an absent string is empty, an absent or null list is empty, unknown
 * fields are kept, and values of an enumeration are plain strings.
 */

/** An absent value reaches `convert` as undefined. */
const read = <T>(convert: (value: unknown) => T) => z.transform<unknown, T>(convert);

const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/;
const INTEGER = /^[+-]?\d+(\.0+)?$/;

/** 60, "60" and " 60 " are 60; anything else is undefined. */
export function toNumber(value: unknown): number | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? value : undefined;
  if (typeof value !== "string" || !NUMBER.test(value.trim())) return undefined;
  const number = Number(value.trim());
  return Number.isFinite(number) ? number : undefined;
}

/**
 * An exact integer of any size: 5, "5", "5.0" and "9223372036854775807"; anything else is undefined, as is a number from
 * 2^53 on, which JSON has rounded.
 */
export function toBigInt(value: unknown): bigint | undefined {
  if (typeof value === "number") return Number.isSafeInteger(value) ? BigInt(value) : undefined;
  if (typeof value !== "string" || !INTEGER.test(value.trim()) || value.length > 64) return undefined;
  return BigInt(value.trim().replace(/^\+|\.0+$/g, ""));
}

/** A string as it is; numbers and booleans spelled out; anything else is "". */
export function toText(value: unknown): string {
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : "";
}

/** true, "true" and 1 are true; false, "false" and 0 are false; anything else is undefined. */
export function toBoolean(value: unknown): boolean | undefined {
  if (typeof value === "boolean") return value;
  if (value === "true" || value === 1) return true;
  return value === "false" || value === 0 ? false : undefined;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export const lenientNumber = read(toNumber);
export const lenientBigInt = read(toBigInt);
export const lenientText = read(toText);
export const lenientBoolean = read(toBoolean);
/** An object as it is; anything else is undefined. */
export const lenientRecord = read((value) => (isRecord(value) ? value : undefined));

/** A text without which the answer is useless: a string that is not empty (an integer is spelled out). */
export const requiredText = z.unknown().transform(toText).pipe(z.string().min(1, "must be a string that is not empty"));

/** Control, invisible and formatting characters, which no identifier has. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/u;

/**
 * An identifier, which is sent back to the service and stored in a status as it is: one that is too long or cannot be printed
 * is refused. An integer is spelled out.
 */
export const identifier = (most: number) =>
  requiredText.superRefine((text, context) => {
    const refuse = (message: string) => context.addIssue({ code: "custom", message, input: text });
    if (text.length > most) refuse(`has ${text.length} characters, more than the ${most} that can be stored`);
    else if (UNPRINTABLE.test(text)) refuse("has control or formatting characters");
  });

/** A nested object; when it is absent or of another type, every field of it is absent. */
export const lenientObject = <S extends z.ZodType<unknown, Record<string, unknown>>>(schema: S) =>
  read((value) => (isRecord(value) ? value : {})).pipe(schema);

const bounded = <T>(list: z.ZodType<T[]>, most: number) =>
  list.refine(({ length }) => length <= most, { error: `has more than ${most} elements`, abort: true });

/**
 * A list of at most `most` objects; absent, null or of another type is empty, and entries that are not objects are dropped.
 */
export const lenientList = <S extends z.ZodType<unknown, Record<string, unknown>>>(item: S, most: number) =>
  bounded(
    read((value) => (Array.isArray(value) ? value.filter(isRecord) : [])),
    most,
  ).pipe(z.array(item));

/** A list of at most `most` elements of any type; absent, null or of another type is empty. */
export const lenientValues = <S extends z.ZodType>(item: S, most: number) =>
  bounded(
    read((value): unknown[] => (Array.isArray(value) ? value : [])),
    most,
  ).pipe(z.array(item));

/** The first `most` objects of a list; absent, null or of another type is empty. */
export const firstRecords = <S extends z.ZodType<unknown, Record<string, unknown>>>(item: S, most: number) =>
  read((value) => (Array.isArray(value) ? value.slice(0, most).filter(isRecord) : [])).pipe(z.array(item));

/** The first `most` elements of a list; absent, null or of another type is empty. */
export const firstValues = <S extends z.ZodType>(item: S, most: number) =>
  read((value) => (Array.isArray(value) ? value.slice(0, most) : [])).pipe(z.array(item));

/**
 * The list of a page. Unlike a nested list it must be there (null is an empty one): a page that does not show its list
 * proves nothing, and must not be read as "there is no such object".
 */
export const pageList = <S extends z.ZodType>(item: S) =>
  z
    .unknown()
    .refine((value) => value === null || Array.isArray(value), "must be a list")
    .transform((value) => (Array.isArray(value) ? value.filter((entry) => entry !== null) : []))
    .pipe(z.array(item));
