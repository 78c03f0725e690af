/**
 * Readers for what the service answers. The interface shows the same value as a string in one place and as an integer in another (ports,
 * timeouts, money), so only these readers read scalars, by the same few rules: a value that cannot be read counts as absent, an
 * absent string is empty, an absent or null list is empty, unknown fields are ignored, and values of an enumeration are plain strings.
 */

import { isRecord } from "../../base/own-value.ts";

const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/;
const INTEGER = /^[+-]?\d+(\.0+)?$/;

/** A response without what makes it usable. `path`: of the field; "" for the whole. */
export class UnusableError extends Error {
  override readonly name = "UnusableError";
  readonly path: string;
  constructor(path: string, problem: string) {
    super(`${path} ${problem}`.trim());
    this.path = path;
  }
}

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

export type Fields = Record<string, unknown>;

/** A nested object; when it is absent or of another type, every field of it is absent. */
export const toFields = (value: unknown): Fields => (isRecord(value) ? value : {});

/** @throws UnusableError for anything but an object */
export function fieldsOf(value: unknown): Fields {
  if (!isRecord(value)) throw new UnusableError("", "must be an object");
  return value;
}

/** A required text. An integer is spelled out. @throws UnusableError for an empty one */
export function requiredText(fields: Fields, name: string): string {
  const text = toText(fields[name]);
  if (text === "") throw new UnusableError(name, "must be a string that is not empty");
  return text;
}

/** Control, invisible and formatting characters, which no identifier has. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/u;

/**
 * An identifier, which is sent back to the service and stored in a status as it is.
 * @throws UnusableError for one that is empty, has more than `most` characters or cannot be printed
 */
export function identifier(fields: Fields, name: string, most: number): string {
  const text = requiredText(fields, name);
  const refuse = (problem: string) => new UnusableError(name, problem);
  if (text.length > most) throw refuse(`has ${text.length} characters, more than the ${most} that can be stored`);
  if (UNPRINTABLE.test(text)) throw refuse("has control or formatting characters");
  return text;
}

/** A list; absent, null or of another type is empty. @throws UnusableError for more than `most` elements */
export function values(fields: Fields, name: string, most: number): unknown[] {
  const list = fields[name];
  if (!Array.isArray(list)) return [];
  if (list.length > most) throw new UnusableError(name, `has more than ${most} elements`);
  return list;
}

/** As `values`, of objects. Other elements are dropped. */
export const records = (fields: Fields, name: string, most: number): Fields[] =>
  values(fields, name, most).filter(isRecord);

/** The first `most` elements of a list; absent, null or of another type is empty. */
export const firstValues = (value: unknown, most: number): unknown[] =>
  Array.isArray(value) ? value.slice(0, most) : [];
