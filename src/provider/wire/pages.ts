import { setImmediate } from "node:timers/promises";
import type * as z from "zod";
import type { Clock } from "../../base/clock.ts";
import { parseJSON } from "./json.ts";
import { isRecord } from "./lenient.ts";
import { createPageScanner, type PageBreach, type PageParts } from "./page-scanner.ts";

/** The list of a page, which can have thousands of records. */
export type PageRecords = {
  /** Name of the list. */
  list: string;
  /** Reads one record. */
  record: z.ZodType;
  /** Most records: a page with more is refused. */
  most: number;
};

/** Why a page cannot be read. `text`: what it has besides its list. */
export class UnreadablePageError extends Error {
  override readonly name = "UnreadablePageError";
  readonly text: string;
  /** The list has too many records. */
  readonly tooLarge: boolean;
  constructor(message: string, text: string, tooLarge = false) {
    super(message);
    this.text = text;
    this.tooLarge = tooLarge;
  }
}

/** How long one page may keep the event loop, ms. Other accounts, leases and health checks wait meanwhile. */
const TURN_MS = 8;
const SCANNED_AT_ONCE = 256 * 1024;
/** What a page has besides its list. */
const REST_BYTES = 64 * 1024;
/** An endpoint has 100 variables of 4,095 characters at most (interface: Limits). */
const RECORD = { elementBytes: 2 * 1024 * 1024, elementValues: 20_000 };

/**
 * Reads a page record by record, and gives way to other work every few milliseconds. The list comes back with what `record`
 * made of its elements; the schema of the page reads the rest. Without the list, the page comes back as it is. `rest`: its
 * text without the list.
 * @throws UnreadablePageError for what is no JSON, exceeds a limit, or has a record that cannot be read
 */
export async function readPage(
  body: Buffer,
  { list, record, most }: PageRecords,
  clock: Pick<Clock, "monotonic">,
): Promise<{ page: unknown; rest: string }> {
  const turn = createTurn(clock);
  const { parts, rest } = await split(body, { list, most }, turn);
  const page = parsed(rest, rest);
  if (parts.list === undefined || !isRecord(page)) {
    const hasList = isRecord(page) && Array.isArray(page[list]) && page[list].length > 0;
    if (hasList) throw new UnreadablePageError(`the name of the list ${list} is escaped`, rest);
    return { page, rest };
  }

  const records: unknown[] = [];
  for (const [index, { from, to }] of parts.elements.entries()) {
    await turn();
    const element = parsed(body.toString("utf8", from, to), rest);
    if (element === null) continue;
    const result = record.safeParse(element);
    if (!result.success) {
      const [issue] = result.error.issues;
      throw new UnreadablePageError(`${[list, index, ...(issue?.path ?? [])].join(".")} ${issue?.message}`, rest);
    }
    records.push(result.data);
  }
  return { page: { ...page, [list]: records }, rest };
}

/** `rest`: the page without the elements of its list. */
async function split(
  body: Buffer,
  { list, most }: Pick<PageRecords, "list" | "most">,
  turn: () => Promise<void>,
): Promise<{ parts: PageParts; rest: string }> {
  const scanner = createPageScanner(body, list, { elements: most, ...RECORD });
  for (let to = 0; to < body.length; ) {
    to = Math.min(body.length, to + SCANNED_AT_ONCE);
    const breach = scanner.scan(to);
    const isTooLarge = breach === "TooManyElements";
    if (breach !== undefined) throw new UnreadablePageError(breachMessage(breach, list, most), "", isTooLarge);
    await turn();
  }
  const parts = scanner.parts();
  if (parts === undefined) throw notComplete(body);
  const { from, to } = parts.list ?? { from: body.length, to: body.length };
  if (from + body.length - to > REST_BYTES) {
    throw new UnreadablePageError(`more than ${REST_BYTES} bytes besides the list ${list}`, "");
  }
  const brackets = parts.list === undefined ? "" : "[]";
  return { parts, rest: `${body.toString("utf8", 0, from)}${brackets}${body.toString("utf8", to)}` };
}

function breachMessage(breach: PageBreach, list: string, most: number): string {
  switch (breach) {
    case "TooManyElements":
      return `${list} has more than ${most} records`;
    case "ElementTooLarge":
      return `${list} has a record of more than ${RECORD.elementBytes} bytes or ${RECORD.elementValues} values`;
    case "ListTwice":
      return `${list} occurs twice`;
  }
}

function parsed(text: string, rest: string): unknown {
  try {
    return parseJSON(text);
  } catch {
    throw new UnreadablePageError(notJSON(text), rest);
  }
}

function notComplete(body: Buffer): UnreadablePageError {
  return new UnreadablePageError(`it is not complete JSON (${body.length} bytes)`, "");
}

/** A page of something between us and the service is quoted; a torn answer of the service may hold anybody's secrets. */
export function notJSON(text: string): string {
  if (text === "") return "it is empty";
  if (/^\s*[{["]/.test(text)) return `it is not complete JSON (${text.length} characters)`;
  return `it is not JSON: ${text.slice(0, 4_096)}`;
}

/** Gives way to other work when the last time is some milliseconds ago. */
function createTurn({ monotonic }: Pick<Clock, "monotonic">): () => Promise<void> {
  let began = monotonic();
  return async () => {
    if (monotonic() - began < TURN_MS) return;
    await setImmediate();
    began = monotonic();
  };
}
