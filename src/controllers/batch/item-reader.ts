import type { MediaBatchSpec } from "../../api/v1alpha1/media-batch.ts";
import { type CsvItems, csvItem, csvItemsOf } from "./csv.ts";
import { type CheckedItems, checkItems, type Item, type ItemCheck, type ItemLine, isBlank, itemOf } from "./items.ts";
import { type Position, recordsOf, START } from "./records.ts";
import { type ItemSource, ItemsChangedError } from "./source.ts";

/** Items between two known positions: at most so many are read again to find one. */
const STRIDE = 64;
/** Characters of the items that are read ahead. One item is read, however long it is. */
const AHEAD_CHARACTERS = 256 * 1024;

/** Reads the items of one batch. In memory: a position for 64 items, and at most 64 items. */
export type ItemReader = {
  /** Reads all items as they are now. `take` is for the items of the last check. @throws StalledError; ItemsChangedError */
  check(source: ItemSource, options: ItemCheck, signal: AbortSignal): Promise<CheckedItems>;
  /** An item. Reads nothing when the items before it were taken in order. @throws ItemsChangedError when another check is needed */
  take(source: ItemSource, index: number, signal: AbortSignal): Promise<Item>;
};

type Format = MediaBatchSpec["items"]["format"];

/** @param kind of the jobs */
export function createItemReader(format: Format, kind: string): ItemReader {
  let positions: Position[] = [];
  let version: string | undefined;
  let header: CsvItems | string | undefined;
  const ahead = new Map<number, Item>();

  async function* linesAt(bytes: AsyncIterable<Uint8Array>, from: Position): AsyncGenerator<ItemLine> {
    for await (const record of recordsOf(bytes, from, format === "CSV")) {
      if (format === "JSONLines") yield record;
      else if (record.offset === 0) {
        header = csvItemsOf(record.text, kind);
        if (typeof header === "string") yield { ...record, problem: header };
      } else if (record.text.trim() !== "" && typeof header === "object") {
        const made = csvItem(header, record.text);
        yield "problem" in made ? { ...record, problem: made.problem } : { ...record, text: made.json };
      }
    }
  }

  return {
    async check(source, options, signal) {
      const opened = await source.open(0, undefined, signal);
      const found: Position[] = [];
      try {
        ahead.clear();
        const onItem: ItemCheck["onItem"] = (index, { line, offset }) => {
          if (index % STRIDE === 0) found.push({ line, offset });
        };
        const checked = await checkItems(linesAt(opened.bytes, START), { ...options, onItem });
        positions = found;
        version = opened.version;
        return checked;
      } finally {
        await opened.close();
      }
    },
    async take(source, index, signal) {
      const known = ahead.get(index);
      if (known !== undefined) {
        ahead.delete(index);
        return known;
      }
      ahead.clear();
      const block = Math.floor(index / STRIDE);
      const from = positions[block];
      if (from === undefined) throw new ItemsChangedError(`item ${index} was not there when the items were checked`);
      const opened = await source.open(from.offset, version, signal);
      try {
        await readAhead(linesAt(opened.bytes, from), block * STRIDE, index);
      } finally {
        await opened.close();
      }
      const item = ahead.get(index);
      if (item === undefined) throw new ItemsChangedError(`item ${index} is not there any more`);
      ahead.delete(index);
      return item;
    },
  };

  /** Keeps items from `wanted` on. `first`: index of the first line. */
  async function readAhead(lines: AsyncIterable<ItemLine>, first: number, wanted: number): Promise<void> {
    let index = first;
    let characters = 0;
    for await (const line of lines) {
      if (isBlank(line)) continue;
      if (index >= wanted) {
        const item = itemOf(line, index);
        if (typeof item === "string") throw new ItemsChangedError(`item ${index}: ${item}`);
        ahead.set(index, item);
        characters += line.text.length;
      }
      index++;
      if (ahead.size >= STRIDE || characters >= AHEAD_CHARACTERS) break;
    }
  }
}
