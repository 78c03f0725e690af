import { setImmediate } from "node:timers/promises";
import type { Clock } from "../../base/clock.ts";
import { isRecord } from "../../base/own-value.ts";
import { elementsIn, isTooComplex, parseJSON } from "./json.ts";
import { UnusableError } from "./lenient.ts";

/** The list of a page, which can have thousands of records. */
export type PageRecords<R> = {
  /** Name of the list. */
  list: string;
  /** Reads one record. @throws UnusableError */
  record(value: unknown): R;
  /** Most records: a page with more is refused. */
  most: number;
};

/** Why a page cannot be read. */
export class UnreadablePageError extends Error {
  override readonly name = "UnreadablePageError";
  /** The list has too many records. */
  readonly tooLarge: boolean;
  constructor(message: string, tooLarge = false) {
    super(message);
    this.tooLarge = tooLarge;
  }
}

/** How long one page may keep the event loop, ms. Other accounts, leases and health checks wait meanwhile. */
const TURN_MS = 8;
/** An endpoint has 100 variables of 4,095 characters at most (interface: Limits). */
const RECORD = { bytes: 2 * 1024 * 1024, values: 20_000 };
/** What a page has besides its list. */
const REST = { bytes: 64 * 1024, values: 1_000 };

/**
 * Reads a page record by record, and yields to other work every few milliseconds.
 * Returns what `record` made of the elements of the list (undefined: there is no list), and the rest of the page.
 * @throws UnreadablePageError for what is no JSON, exceeds a limit, or has a record that cannot be read
 */
export async function readPage<R>(
  body: Buffer,
  { list, record, most }: PageRecords<R>,
  clock: Pick<Clock, "monotonic">,
): Promise<{ records: R[] | undefined; rest: unknown }> {
  const turn = createTurn(clock);
  const records: R[] = [];
  const elements = elementsIn(body, list);
  let next = elements.next();
  for (let index = 0; next.done !== true; index++, next = elements.next()) {
    await turn();
    if (index === most) throw new UnreadablePageError(`${list} has more than ${most} records`, true);
    const element = parsed(body.subarray(next.value.from, next.value.to), { ...RECORD, what: `${list} has a record` });
    if (element === null) continue;
    try {
      records.push(record(element));
    } catch (error) {
      if (!(error instanceof UnusableError)) throw error;
      throw new UnreadablePageError(`${list}.${index}${error.path === "" ? " " : "."}${error.message}`);
    }
  }
  const { from, to } = next.value ?? { from: body.length, to: body.length };
  const rest = Buffer.concat([body.subarray(0, from), Buffer.from(from === to ? "" : "null"), body.subarray(to)]);
  const page = parsed(rest, { ...REST, what: `besides the list ${list}, the page has a part` });
  const again = isRecord(page) ? page[list] : undefined;
  if (Array.isArray(again) && again.length > 0) {
    throw new UnreadablePageError(`${list} occurs twice, or its name is escaped`);
  }
  const isThere = isRecord(page) && (from !== to || again === null || Array.isArray(again));
  return { records: isThere ? records : undefined, rest: page };
}

function parsed(json: Buffer, { bytes, values, what }: { bytes: number; values: number; what: string }): unknown {
  if (json.length > bytes || isTooComplex(json, values)) {
    throw new UnreadablePageError(`${what} of more than ${bytes} bytes or ${values} values`);
  }
  const text = json.toString("utf8");
  try {
    return parseJSON(text);
  } catch {
    throw new UnreadablePageError(notJSON(text));
  }
}

/** A page of a proxy is quoted; a truncated response of the service is not, because it may have secrets. */
export function notJSON(text: string): string {
  if (text === "") return "it is empty";
  if (/^\s*[{["]/.test(text)) return `it is not complete JSON (${text.length} characters)`;
  return `it is not JSON: ${text.slice(0, 4_096)}`;
}

/** Yields to other work every few milliseconds. */
function createTurn({ monotonic }: Pick<Clock, "monotonic">): () => Promise<void> {
  let began = monotonic();
  return async () => {
    if (monotonic() - began < TURN_MS) return;
    await setImmediate();
    began = monotonic();
  };
}
