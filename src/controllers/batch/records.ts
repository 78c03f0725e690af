import { StringDecoder } from "node:string_decoder";
import { StalledError } from "../references.ts";

/** One record of a source of items. `line`: the line it begins in, from 1. `offset`: its first byte. */
export type SourceRecord = { text: string; line: number; offset: number };

/** Where a record begins. */
export type Position = Pick<SourceRecord, "line" | "offset">;
export const START: Position = { line: 1, offset: 0 };

/** Longest record, in bytes: the API server takes no larger object. */
const LONGEST_RECORD = 1024 * 1024;
const NEWLINE = 0x0a;
const QUOTE = 0x22;
const BOM = "\uFEFF";

/**
 * Splits bytes at line ends. With `quoted`, a line end between quotes belongs to the record, as in CSV.
 * @param from where the bytes begin in their source
 * @throws StalledError for a record of more than 1 MiB
 */
export async function* recordsOf(
  bytes: AsyncIterable<Uint8Array>,
  from: Position,
  quoted: boolean,
): AsyncGenerator<SourceRecord> {
  let begun: Uint8Array[] = [];
  let length = 0;
  let { line, offset } = from;
  let lines = 0;
  let inQuotes = false;

  const take = (part: Uint8Array) => {
    length += part.length;
    if (length > LONGEST_RECORD)
      throw new StalledError("InvalidItems", `line ${line} is longer than 1 MiB: shorten it`);
    if (part.length > 0) begun.push(part);
  };
  const end = (): SourceRecord => {
    const record = { text: textOf(begun, offset), line, offset };
    line += lines;
    offset += length;
    begun = [];
    [length, lines] = [0, 0];
    return record;
  };

  for await (const chunk of bytes) {
    let start = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at];
      if (quoted && byte === QUOTE) inQuotes = !inQuotes;
      if (byte !== NEWLINE) continue;
      lines++;
      if (inQuotes) continue;
      take(chunk.subarray(start, at + 1));
      start = at + 1;
      yield end();
    }
    take(chunk.subarray(start));
  }
  if (length > 0) yield end();
}

function textOf(parts: readonly Uint8Array[], offset: number): string {
  const decoder = new StringDecoder("utf8");
  const text = parts.map((part) => decoder.write(Buffer.from(part.buffer, part.byteOffset, part.length))).join("");
  const whole = (text + decoder.end()).replace(/\r?\n$/, "");
  return offset === 0 && whole.startsWith(BOM) ? whole.slice(1) : whole;
}

/** The cells of a record of CSV (RFC 4180). Undefined: its quotes are not balanced. */
export function cellsOf(text: string): string[] | undefined {
  const cells: string[] = [];
  const cell = /(?:"((?:[^"]|"")*)"|([^",]*))(,|$)/y;
  while (cell.lastIndex <= text.length) {
    const found = cell.exec(text);
    if (found === null) return undefined;
    const [, quoted, plain = "", separator] = found;
    cells.push(quoted?.replaceAll('""', '"') ?? plain);
    if (separator === "") return cells;
  }
  return cells;
}
