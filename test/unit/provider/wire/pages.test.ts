import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../../src/base/clock.ts";
import { parseJSON } from "../../../../src/provider/wire/json.ts";
import { readPage, UnreadablePageError } from "../../../../src/provider/wire/pages.ts";

const page = { list: "data", record: (value: unknown) => value, most: 5 };
const read = async (text: string) => {
  const { records, rest } = await readPage(Buffer.from(text), page, systemClock);
  return records === undefined ? rest : Object.assign(Object(rest), { data: records });
};

describe("a page", () => {
  it("is read as one text, whatever is in its records and beside them", async () => {
    const json = fc.jsonValue({ maxDepth: 3 }).filter((value) => value !== null);
    const names = fc.string({ unit: "binary", maxLength: 5 }).filter((name) => !["data", "__proto__"].includes(name));
    const content = fc.record({
      before: fc.dictionary(names, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 2 }),
      data: fc.oneof(fc.array(json, { maxLength: 5 }), fc.constantFrom("text", 5)),
      after: fc.dictionary(names, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 2 }),
    });
    await fc.assert(
      fc.asyncProperty(content, fc.constantFrom(0, 1, "\t"), async ({ before, data, after }, indent) => {
        const text = JSON.stringify({ ...before, data, ...after }, null, indent);
        expect(await read(text)).toEqual(parseJSON(text));
      }),
    );
  });

  it("with more records than allowed is too large, which another error is not", async () => {
    await expect(read(JSON.stringify({ data: [1, 2, 3, 4, 5, 6] }))).rejects.toMatchObject({ tooLarge: true });
    await expect(read('{"data":[1]')).rejects.toMatchObject({ tooLarge: false });
  });

  it("leaves null records out, reads null as an empty list, and what is no list as it is", async () => {
    expect(await read('{"data":[null,1,null]}')).toEqual({ data: [1] });
    expect(await read('{"data": [ ]}')).toEqual({ data: [] });
    expect(await read('{"data":null}')).toEqual({ data: [] });
    expect(await read('{"nested":{"data":[1]}}')).toEqual({ nested: { data: [1] } });
    expect(await read('[{"data":[1]}]')).toEqual([{ data: [1] }]);
  });

  it.each([
    ["a torn list", '{"data":[{"id":1},{"id"', "it is not complete JSON"],
    ["a torn page", '{"data":[1]', "it is not complete JSON"],
    ["records without a separator", '{"data":[{}{}]}', "it is not complete JSON"],
    ["a separator after the last record", '{"data":[1,]}', "it is empty"],
    ["brackets that do not match", '{"data":[{]}', "it is not complete JSON"],
    ["too many records", '{"data":[1,2,3,4,5,6]}', "data has more than 5 records"],
    ["the list twice", '{"data":[1],"data":[2]}', "data occurs twice"],
    ["the list under an escaped name", '{"\\u0064ata":[1]}', "or its name is escaped"],
    ["a record of many values", `{"data":[[${"1,".repeat(20_001)}1]]}`, "a record of more than"],
    ["a large record", `{"data":["${"x".repeat(3 * 1024 * 1024)}"]}`, "a record of more than"],
    ["a record of many levels", `{"data":[${"[".repeat(101)}${"]".repeat(101)}]}`, "a record of more than"],
    ["much beside the list", `{"data":[],"a":"${"x".repeat(65_536)}"}`, "has a part of more than 65536 bytes"],
    ["no JSON", "<html>", "it is not JSON: <html>"],
  ])("with %s is refused", async (_name, text, message) => {
    await expect(read(text)).rejects.toThrow(UnreadablePageError);
    await expect(read(text)).rejects.toThrow(message);
  });

  it("of any text is read or refused, and JSON.parse agrees", async () => {
    const piece = fc.constantFrom("{", "}", "[", "]", ",", ":", '"data"', '"a"', "1", " ", '"\\""', "null");
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 12 }), async (pieces) => {
        const text = pieces.join("");
        const result = await read(text).catch((error: unknown) => error);
        if (result instanceof UnreadablePageError) return;
        expect(() => JSON.parse(text)).not.toThrow();
      }),
      { numRuns: 2_000 },
    );
  });

  it("gives way to other work while it is read", async () => {
    const record = () => {
      const end = performance.now() + 2;
      while (performance.now() < end);
      return 1;
    };
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    const body = Buffer.from(JSON.stringify({ data: Array.from({ length: 100 }, () => 1) }));
    await readPage(body, { ...page, record, most: 100 }, systemClock);
    clearInterval(timer);
    expect(turns).toBeGreaterThan(10);
  });
});
