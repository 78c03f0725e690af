import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSanitizer, plainText } from "../../../src/base/sanitizer.ts";
import { SECRET_FORMS } from "../../support/hostile/secret-forms.ts";

const KEY = "sk-Very/Secret+Key_0123456789";

describe("a secret", () => {
  const sanitize = createSanitizer({ apiKeys: () => [KEY], hidden: ["p@ss word/1", "line one\nline two"] });

  it.each(SECRET_FORMS)("%s: the API key is not shown", (_name, quote) => {
    const shown = sanitize(`before ${quote(KEY)} after`, 4096);
    expect(shown).toMatch(/^before \S*\[API key\]\S* after$/);
  });

  it.each(SECRET_FORMS)("%s: a hidden value is not shown", (_name, quote) => {
    expect(sanitize(`before ${quote("p@ss word/1")} after`, 4096)).toMatch(/^before \S*\(hidden\)\S* after$/);
  });

  it.each([
    "https://s3.example.com/a?X-Amz-Credential=AKID%2F20260301&X-Amz-Signature=0a1b2c&X-Amz-Expires=86400",
    "https://a.example.com/?next=https%3A%2F%2Fs3%2Fa%3FX-Amz-Signature%3D0a1b2c%26b",
    "https://s3.example.com/a?X-Amz-Security-Token=AKID%2F0a1b2c&x=1 failed",
  ])("in a signed URL is not shown: %s", (url) => {
    const shown = plainText(`cannot read ${url}`, 4096);
    expect(shown).toMatch(/X-Amz-.*\(hidden\)/);
    expect(shown).not.toMatch(/AKID|0a1b2c/);
  });

  it("over two lines is hidden as one", () => {
    expect(sanitize("bad value: line one\nline two.", 100)).toBe("bad value: (hidden).");
  });

  it.each(SECRET_FORMS)("%s: any secret of letters and symbols is not shown", (_name, quote) => {
    const secret = fc.string({ unit: fc.constantFrom(..."abcXYZ0189-_+/=%$.~!ü"), minLength: 9, maxLength: 60 });
    fc.assert(
      fc.property(secret, (value) => {
        const shown = createSanitizer({ hidden: [value] })(`x ${quote(value)} y`, 4096);
        expect(shown).toContain("(hidden)");
        expect(shown).not.toContain(quote(value));
      }),
      { numRuns: 100 },
    );
  });

  it("that is long is not shown in part either", () => {
    const text = Array.from({ length: 5_000 }, (_, index) => `word${index}`).join(" ");
    const sanitize = createSanitizer({ hidden: [text] });
    expect(sanitize(`text is not allowed: "${text.slice(1_003, 1_060)}", change it`, 300)).toBe(
      'text is not allowed: "(hidden)", change it',
    );
    expect(sanitize("word1 is not allowed", 300)).toBe("word1 is not allowed");
  });

  it("is hidden at the cut, and at the end of what is read", () => {
    expect(sanitize(`${"x".repeat(15)}${KEY}`, 20)).toBe("xxxxxxxxxxxxxxx[API…");
    expect(sanitize(`a${" ".repeat(64 * 1024 - 10)}${KEY}`, 100)).not.toContain("sk-Very");
  });

  it("is not read in time that grows with the square", () => {
    const began = performance.now();
    createSanitizer({ hidden: ["a".repeat(1_000_000)] })("a".repeat(64 * 1024), 8192);
    expect(performance.now() - began).toBeLessThan(5_000);
  });

  it("of three characters or fewer is none", () => {
    expect(createSanitizer({ hidden: ["abc", ""] })("abc", 10)).toBe("abc");
  });

  it("in an identifier is noticed, where it is long enough to be no chance", () => {
    expect(sanitize.quotesSecret(`task-${KEY}`)).toBe(true);
    expect(sanitize.quotesSecret(`task-${Buffer.from(KEY).toString("base64url")}`)).toBe(true);
    expect(sanitize.quotesSecret("task-0123")).toBe(false);
    expect(createSanitizer({ hidden: ["1234"] }).quotesSecret("task-1234")).toBe(false);
  });
});

describe("characters", () => {
  it.each([
    ["BEL and C0", "a\u0007b\u0000\u001b[31mc", "ab[31mc"],
    ["C1", "a\u0085b\u009b2Jc", "ab2Jc"],
    ["bidirectional", "a\u202egpj.exe\u2066b\u2069\u200f", "agpj.exeb"],
    ["lines", "a\r\n  Ready:\tTrue\u2028b", "a Ready: True b"],
    ["half of a pair", "a\ud800b", "a\ufffdb"],
  ])("%s", (_name, text, shown) => {
    expect(plainText(text, 100)).toBe(shown);
  });

  it("any text is one line of at most the limit", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 40 }), fc.integer({ min: 1, max: 30 }), (text, limit) => {
        const shown = plainText(text, limit);
        expect([...shown].length).toBeLessThanOrEqual(limit);
        expect(shown).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u);
        expect(plainText(shown, limit)).toBe(shown);
      }),
    );
  });
});
