import { describe, expect, it } from "vitest";
import { MAX_ITEMS } from "../../../../src/controllers/batch/index-set.ts";
import { checkItems, type Item, mergeItem } from "../../../../src/controllers/batch/items.ts";
import { recordsOf, START } from "../../../../src/controllers/batch/records.ts";

const needsText = async ({ patch }: Item) => (typeof patch.text === "string" ? undefined : "text: is missing");
const check = (text: string) => checkItems(recordsOf(once(text), START, false), { problemOf: needsText });

async function* once(text: string) {
  yield Buffer.from(text);
}

describe("items of a batch", () => {
  it("good lines are counted, blank ones are no items, and only items change the hash", async () => {
    const good = await check('{"text":"a"}\n\n{"text":"b","name":"two"}\n');
    expect(good).toMatchObject({ kind: "Good", total: 2, hash: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect(await check('{"text":"a"}\r\n{"text":"b","name":"two"}')).toEqual(good);
    expect(await check('{"text":"b","name":"two"}\n{"text":"a"}')).not.toEqual(good);
  });

  it.each([
    { text: "", line: 1, message: "there are no items: add one" },
    { text: "\n \n", line: 1, message: "there are no items: add one" },
    { text: '{"text":"a"}\n{"text":', line: 2, message: expect.stringContaining("is no JSON: ") },
    { text: '["a"]', line: 1, message: "is no JSON object: write the fields of the item in braces" },
    { text: '{"text":7}', line: 1, message: "text: is missing" },
    {
      text: '{"text":"a","name":"../b"}',
      line: 1,
      message: expect.stringContaining("name must be a text of 1 to 128"),
    },
    {
      text: '{"text":"a","name":"x"}\n\n{"text":"b","name":"x"}',
      line: 3,
      message: "name x is also in line 1: give each item its own name",
    },
  ])("$text is refused in line $line", async ({ text, line, message }) => {
    expect(await check(text)).toEqual({ kind: "Bad", problems: [{ line, message }], count: 1 });
  });

  it("the first ten problems are listed, and all are counted", async () => {
    const checked = await check('{"text":"a"}\n'.concat("oops\n".repeat(25)));
    expect(checked).toMatchObject({ kind: "Bad", count: 25 });
    const lines = checked.kind === "Bad" ? checked.problems.map(({ line }) => line) : [];
    expect(lines).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  });

  it("100,000 items are taken, one more is refused", async () => {
    const text = '{"text":"a"}\n'.repeat(MAX_ITEMS);
    expect(await check(text)).toMatchObject({ kind: "Good", total: MAX_ITEMS });
    expect(await check(`${text}{"text":"b"}`)).toMatchObject({
      kind: "Bad",
      problems: [{ line: MAX_ITEMS + 1, message: expect.stringContaining("more than 100000 items") }],
    });
  });

  it("an item changes the template as a JSON merge patch", () => {
    const template = { model: "m", voiceSetting: { voiceID: "v", speed: 1 }, tone: [1, 2], stream: true };
    const patch = { text: "a", voiceSetting: { speed: 2, pitch: { x: null, y: 1 } }, tone: [3], stream: null };
    expect(mergeItem(template, patch)).toEqual({
      model: "m",
      text: "a",
      voiceSetting: { voiceID: "v", speed: 2, pitch: { y: 1 } },
      tone: [3],
    });
  });

  it("a field with the name of a prototype is a field like others", () => {
    const merged = mergeItem({}, JSON.parse('{"__proto__":{"text":"b"}}'));
    expect(Object.keys(merged)).toEqual(["__proto__"]);
    expect(Reflect.get({}, "text")).toBeUndefined();
  });
});
