import { setImmediate } from "node:timers/promises";
import type { z } from "zod";
import { isRecord } from "./lenient.ts";

/** The list of a page, which can have thousands of records. */
export type PageRecords = {
  /** Name of the list. */
  list: string;
  /** Reads one record. */
  record: z.ZodType;
  /** Most records: a page with more is refused. */
  most: number;
};

/** How long the records of a page may keep the event loop, ms. Other accounts, leases and health checks wait meanwhile. */
const TURN_MS = 8;

/**
 * A page with its records read. Gives way to other work every few milliseconds. A page without the list comes back as it is:
 * its schema refuses it.
 * @throws UnreadablePageError for a list that is too long, and for a record that cannot be read
 */
export async function readRecords(page: unknown, { list, record, most }: PageRecords): Promise<unknown> {
  if (!isRecord(page)) return page;
  const entries = page[list];
  if (!Array.isArray(entries)) return page;
  if (entries.length > most)
    throw new UnreadablePageError(`${list} has ${entries.length} records, at most ${most} are read`);
  const records: unknown[] = [];
  let began = performance.now();
  for (const [index, entry] of entries.entries()) {
    if (entry === null) continue;
    const parsed = record.safeParse(entry);
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      throw new UnreadablePageError(`${[list, index, ...(issue?.path ?? [])].join(".")} ${issue?.message}`);
    }
    records.push(parsed.data);
    if (performance.now() - began < TURN_MS) continue;
    await setImmediate();
    began = performance.now();
  }
  return { ...page, [list]: records };
}

export class UnreadablePageError extends Error {
  override readonly name = "UnreadablePageError";
}
