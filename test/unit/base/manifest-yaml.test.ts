import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseDocument } from "yaml";
import { manifestYaml, oneLine, quoted } from "../../../src/base/manifest-yaml.ts";

/** Texts that readers of YAML 1.1 or 1.2 take for something else when they stand unquoted. */
const TRAPS = [
  ..."yes no on off y n true null ~ = << - ? : # & * ! | > % @ `".split(" "),
  ...["", " ", "0123", "0o17", "0x1F", "1_000", "12:30:45", "1e3", ".5", ".inf", "2024-01-01", "- x", "a: b", "a #b"],
  ...["---", "...", "%YAML 1.1", "[1]", "{a: b}", "'", '"', "\\", "\\n", "a\\\nb", "!!binary x", "\ta", "a\t"],
  ...["a\n", "a\n\n", "\na", " a\n b ", "a\r\nb", "\r", "a \nb", "a\n\tb", "#!/bin/sh\nset -e\nexec serve\n"],
  ...["\0", "\u0007", "\u001b[31m", "\u007f", "\u0085", "\u00a0", "\u00ad", "\u200b", "\u2028", "\u2029", "\ufeff"],
  ...["你好", "é", "e\u0301", "😀", "\u{10fffd}", "\u{e0001}", "\ud7ff", "\ue000", "\ufffd", "\uffff"],
];

/** What the API server gets from a document, by both versions of the language. */
const readings = (yaml: string) =>
  (["1.1", "1.2"] as const).map((version) => parseDocument(yaml, { version, strict: true }).toJS());

describe("manifestYaml", () => {
  it("means the same in YAML 1.1 and 1.2, for any text", () => {
    for (const text of TRAPS) {
      const object = { spec: { env: [{ name: text, value: text }], nested: { text } } };
      for (const read of readings(manifestYaml(object, []))) expect(read, JSON.stringify(text)).toEqual(object);
    }
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (a, b) => {
        const object = { a, list: [b, { b: a + b }] };
        const yaml = manifestYaml(object, [b]);
        for (const read of readings(yaml)) expect(read).toEqual(object);
      }),
      { numRuns: 100 },
    );
  });

  it("writes nothing that the YAML of kubectl refuses or takes for the end of a line", () => {
    const plain = /^[\n\x20-\x7e\u00a1-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\uffef\u{10000}-\u{10ffff}]*$/u;
    for (const text of TRAPS) expect(manifestYaml({ text }, [text]), JSON.stringify(text)).toMatch(plain);
    expect(manifestYaml({ text: "\u{10fffd}" }, [])).toBe('text: "\\U0010fffd"\n');
  });

  it("keeps the order, folds nothing and shows a script as it is", () => {
    const command = "#!/bin/sh\nexec serve --model /m\n";
    expect(manifestYaml({ z: "x".repeat(300), a: 1, command }, ["Imported.", "And more."])).toBe(
      `# Imported.\n# And more.\n\nz: ${"x".repeat(300)}\na: 1\ncommand: |\n  #!/bin/sh\n  exec serve --model /m\n`,
    );
  });
});

it("a line for people has no line ends and no control characters", () => {
  expect(oneLine("a\nb\u001b[31m\u2028c")).toBe("a\\nb\\u001b[31m\\u2028c");
  expect(quoted('a"\n\u0085你')).toBe('"a\\"\\n\\u0085你"');
});
