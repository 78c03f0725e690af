import { describe, expect, it } from "vitest";
import { csvItem, csvItemsOf } from "../../../../src/controllers/batch/csv.ts";
import { createItemReader } from "../../../../src/controllers/batch/item-reader.ts";
import { cellsOf, recordsOf, type SourceRecord, START } from "../../../../src/controllers/batch/records.ts";
import { type ItemSource, ItemsChangedError } from "../../../../src/controllers/batch/source.ts";

const { signal } = new AbortController();
const good = { problemOf: async () => undefined };

/** Bytes in chunks of a size. */
async function* chunks(text: string, size: number) {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function collect(records: AsyncIterable<SourceRecord>): Promise<SourceRecord[]> {
  const all: SourceRecord[] = [];
  for await (const record of records) all.push(record);
  return all;
}

/** Counts what is read. */
function sourceOf(text: { now: string }) {
  const opened: number[] = [];
  const source: ItemSource = {
    async open(offset, version) {
      if (version !== undefined && version !== text.now) throw new ItemsChangedError("the items have changed");
      opened.push(offset);
      const bytes = Buffer.from(text.now).subarray(offset);
      return { bytes: chunks(bytes.toString(), 37), version: text.now, close: async () => {} };
    },
  };
  return { source, opened };
}

describe("records", () => {
  it.each([1, 2, 3, 7, 100])("have their line and first byte, in chunks of %i bytes", async (size) => {
    const text = '\uFEFFä\n\n"b\nc",d\r\nlast';
    const read = async (quoted: boolean) => collect(recordsOf(chunks(text, size), START, quoted));
    expect((await read(false)).map((record) => Object.values(record))).toEqual([
      ["ä", 1, 0],
      ["", 2, 6],
      ['"b', 3, 7],
      ['c",d', 4, 10],
      ["last", 5, 16],
    ]);
    expect((await read(true)).map((record) => Object.values(record))).toEqual([
      ["ä", 1, 0],
      ["", 2, 6],
      ['"b\nc",d', 3, 7],
      ["last", 5, 16],
    ]);
  });

  it("of more than 1 MiB are refused", async () => {
    const read = collect(recordsOf(chunks(`ok\n${"x".repeat(2 ** 20)}\n`, 65_536), START, false));
    await expect(read).rejects.toThrow("line 2 is longer than 1 MiB");
  });

  it.each([
    ["a,b", ["a", "b"]],
    ["a,", ["a", ""]],
    ["", [""]],
    ['"a ""b"", c",d', ['a "b", c', "d"]],
    ['"a', undefined],
    ['a"b,c', undefined],
  ])("%s has the cells %o", (text, cells) => {
    expect(cellsOf(text)).toEqual(cells);
  });
});

describe("CSV", () => {
  const items = (header: string) => {
    const made = csvItemsOf(header, "SpeechJob");
    if (typeof made === "string") throw new Error(made);
    return made;
  };

  it("becomes an item by the types of the fields; an empty cell sets nothing", () => {
    const csv = items("name,text,voiceSetting.speed,voiceSetting.voiceID,stream,timbreWeights");
    expect(csvItem(csv, 'a,7,1.5,,TRUE,"[{""voiceID"":""v"",""weight"":1}]"')).toEqual({
      json: '{"name":"a","text":"7","voiceSetting":{"speed":1.5},"stream":true,"timbreWeights":[{"voiceID":"v","weight":1}]}',
    });
    expect(csvItem(csv, ",hello,fast,,no,")).toEqual({
      json: '{"text":"hello","voiceSetting":{"speed":"fast"},"stream":"no"}',
    });
  });

  it("with too many cells or open quotes is refused", () => {
    expect(csvItem(items("text"), "a,b")).toEqual({
      problem: expect.stringContaining("has 2 cells, and the header has 1"),
    });
    expect(csvItem(items("text"), '"a')).toEqual({ problem: "has quotes that are not balanced" });
    expect(csvItemsOf("text,,name", "SpeechJob")).toContain("column 2 of the header has no name");
    expect(csvItemsOf("text,text", "SpeechJob")).toContain("the column text twice");
  });
});

describe("items that are taken one after the other", () => {
  const text = (count: number) => Array.from({ length: count }, (_, at) => `{"text":"page ${at}"}\n\n`).join("");

  it("are read in blocks, not one by one", async () => {
    const { source, opened } = sourceOf({ now: text(200) });
    const reader = createItemReader("JSONLines", "SpeechJob");
    expect(await reader.check(source, good, signal)).toMatchObject({ kind: "Good", total: 200 });
    for (let index = 0; index < 200; index++) {
      expect(await reader.take(source, index, signal)).toMatchObject({ index, patch: { text: `page ${index}` } });
    }
    expect(opened).toHaveLength(1 + 4);
    expect(await reader.take(source, 70, signal)).toMatchObject({ patch: { text: "page 70" } });
  });

  it("of CSV have the columns of the header, also in the middle", async () => {
    const lines = Array.from({ length: 150 }, (_, at) => `n-${at},"page\n${at}"`);
    const { source } = sourceOf({ now: `name,text\n${lines.join("\n")}` });
    const reader = createItemReader("CSV", "SpeechJob");
    expect(await reader.check(source, good, signal)).toMatchObject({ kind: "Good", total: 150 });
    expect(await reader.take(source, 130, signal)).toEqual({ index: 130, name: "n-130", patch: { text: "page\n130" } });
  });

  it("are not those of other content", async () => {
    const content = { now: text(100) };
    const { source } = sourceOf(content);
    const reader = createItemReader("JSONLines", "SpeechJob");
    await reader.check(source, good, signal);
    content.now = text(101);
    await expect(reader.take(source, 0, signal)).rejects.toThrow(ItemsChangedError);
  });
});
