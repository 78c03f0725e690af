/**
 * Bounds of what the service returns. A shown text is cut to what a status can store. An identifier or a list that exceeds its
 * bound makes the response unreadable: a part of it would mean something else.
 */

/** Longest identifiers, in characters: an endpoint (interface: endpoint_id) and a task. */
export const ENDPOINT_ID = 255;
export const TASK_ID = 512;

/** Longest shown texts, in characters. */
export const TEXT = {
  /** Names, and words of an enumeration. */
  word: 64,
  state: 256,
  name: 255,
  /** Names in a bill. */
  billName: 512,
  error: 4096,
  message: 8192,
} as const;

/** Longest URL of an endpoint and of a result, in characters. */
export const ENDPOINT_URL = 4096;
export const RESULT_URL = 8192;

/** Most elements of the lists in a record. */
export const MOST = { workers: 2_000, variables: 1_000, ports: 100, volumes: 100, products: 1_000 } as const;

/** Outputs of a task: most that are read, and most that a status lists. */
export const OUTPUTS_READ = 1_000;
export const OUTPUTS_SHOWN = 64;

/** Most records of a page, whatever size was asked for. */
export const PAGE_RECORDS = 10_000;
/** Most bills of a range: they have no pages. */
export const MOST_BILLS = 50_000;

const INT32_MAX = 2_147_483_647;
const INT64_SIZE = 2n ** 63n;
/** 9999-12-31T23:59:59Z, the last time of RFC 3339. */
const LAST_SECOND = 253_402_300_799;

/** A count that fits in 32 bits; a larger one is as good as the largest. undefined for a negative one. */
export function count(value: number | undefined): number | undefined {
  return value === undefined || value < 0 ? undefined : Math.min(INT32_MAX, value);
}

/** A limit of a range, as a whole number from -1; undefined for one that is below. */
export function limitOf(value: number | undefined): number | undefined {
  return value === undefined || value < -1 ? undefined : Math.min(INT32_MAX, Math.trunc(value));
}

/** Unix seconds that RFC 3339 can show; undefined for any other. */
export function unixSeconds(value: number | undefined): number | undefined {
  return value !== undefined && value >= 0 && value <= LAST_SECOND ? value : undefined;
}

/** An integer of 64 bits, as money and counts are (interface: int64); undefined for any other. */
export function int64(value: bigint | undefined): bigint | undefined {
  return value !== undefined && value <= INT64_SIZE && value >= -INT64_SIZE ? value : undefined;
}
