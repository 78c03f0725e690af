import { Document, type ScalarTag } from "yaml";

/**
 * Text that YAML readers read differently when it is unquoted or in a block: control characters, line ends of other
 * systems and of Unicode, invisible marks, and lines that end with spaces.
 */
const DELICATE =
  /[^\t\n\x20-\x7e\u00a1-\u00ac\u00ae-\u1fff\u2010-\u2027\u2030-\u205e\u2070-\ud7ff\ue000-\ufdcf\ufdf0-\ufefe\uff00-\uffef\u{10000}-\u{1fffd}]/u;
const EVERY_DELICATE = new RegExp(DELICATE, "gu");

function isDelicate(text: string): boolean {
  if (text.includes("\t") || DELICATE.test(text)) return true;
  return text.includes("\n") && (/^\s/.test(text) || text.includes(" \n") || /( |\n\n)$/.test(text));
}

const delicateText: ScalarTag = {
  tag: "tag:yaml.org,2002:str",
  default: true,
  identify: (value) => typeof value === "string" && isDelicate(value),
  resolve: (text) => text,
  stringify: ({ value }) => quoted(String(value)),
};

/** A text on one line, in double quotes, in ASCII and letters that every terminal and YAML reader shows alike. */
export function quoted(text: string): string {
  return escaped(JSON.stringify(text));
}

/** One line for a comment or a terminal, with control characters escaped. */
export function oneLine(text: string): string {
  return escaped(text.replaceAll("\n", "\\n").replaceAll("\t", "\\t"));
}

function escaped(text: string): string {
  return text.replace(EVERY_DELICATE, (character) => {
    const code = (character.codePointAt(0) ?? 0).toString(16);
    // A pair of \u, as in JSON, is refused by the YAML of kubectl.
    return code.length > 4 ? `\\U${code.padStart(8, "0")}` : `\\u${code.padStart(4, "0")}`;
  });
}

/**
 * One YAML document with the keys in the given order, that means the same to readers of YAML 1.1 (kubectl) and 1.2: "yes",
 * "0123" and the like are quoted, nothing is folded.
 * @param comment lines that stand above it, without `#`
 */
export function manifestYaml(object: object, comment: readonly string[]): string {
  const document = new Document(object, { compat: "yaml-1.1", customTags: (tags) => [delicateText, ...tags] });
  if (comment.length > 0) document.commentBefore = comment.map((line) => ` ${oneLine(line)}`).join("\n");
  return document.toString({ lineWidth: 0 });
}
