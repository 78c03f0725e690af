import { formsOf, type SecretForms, secretRanges, type TextRange } from "./secret-matches.ts";

/**
 * Every text from outside passes here before it gets into a condition, an event, a log line or a status.
 *
 * # Guarantees
 * - Well-formed Unicode in one line, without control characters (C0, C1), invisible and bidirectional formatting characters.
 * - At most `limit` characters (code points); the last one is an ellipsis when something was left out.
 * - No secret, in the forms of `secretRanges`, and no signature of a signed URL. A secret that a cut leaves incomplete is hidden too.
 */
export type Sanitizer = {
  (text: string, limit: number): string;
  /** Whether the text contains a whole secret. For identifiers, which cannot be shown in part. */
  quotesSecret(text: string): boolean;
};

export type Secrets = {
  /** API keys of the account; the text shows `[API key]` instead. Read at each use. */
  apiKeys?: () => readonly string[];
  /** Other values that no text shows, such as those of Secrets; the text shows `(hidden)` instead. */
  hidden?: readonly string[] | undefined;
};

/** Longest part of a text that is read: more than any limit. */
const INPUT_LIMIT = 64 * 1024;
/** The end of a part can be the beginning of a secret, which is no excerpt yet. An escaped character has up to six. */
const LONGEST_START = 6 * 16;
/** Shorter hidden values can be part of an identifier by chance. */
const SHORTEST_IN_IDENTIFIER = 8;

const BEARER = /Bearer\s+[^\s"',;<>]{12,}/gi;
/** The secret parts of a signed URL of an object store, also within the query of another URL. */
const SIGNED = /(X-Amz-(?:Signature|Security-Token|Credential)(?:=|%3D))[^\s"',;<>&]+/gi;
const API_KEY = "[API key]";
const HIDDEN = "(hidden)";

export function createSanitizer({ apiKeys = () => [], hidden = [] }: Secrets = {}): Sanitizer {
  const keyForms = remembered(apiKeys);
  let hiddenForms: SecretForms | undefined;
  let longForms: SecretForms | undefined;

  function sanitize(text: string, limit: number): string {
    if (text === "") return text;
    hiddenForms ??= formsOf([...new Set(hidden)]);
    const isLong = text.length > INPUT_LIMIT;
    const line = oneLine(isLong ? text.slice(0, INPUT_LIMIT) : text);
    const shown = replaced(
      replaced(line, hiddenForms, HIDDEN).replace(BEARER, `Bearer ${API_KEY}`).replace(SIGNED, `$1${HIDDEN}`),
      keyForms(),
      API_KEY,
    );
    if (!isLong) return cutTo(shown, limit);
    return cutTo(`${shown.slice(0, -LONGEST_START)}…`, limit);
  }

  return Object.assign(sanitize, {
    quotesSecret(text: string): boolean {
      const line = oneLine(text);
      longForms ??= formsOf([...new Set(hidden)], SHORTEST_IN_IDENTIFIER);
      return [keyForms(), longForms].some((forms) => secretRanges(line, forms, { excerpts: false }).length > 0);
    },
  });
}

/** For texts without known secrets. */
export const plainText: Sanitizer = createSanitizer();

/** At most `limit` characters (code points). The last one is an ellipsis when the text was longer. */
export function cutTo(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const characters = Array.from(text.slice(0, 2 * limit + 2));
  return characters.length <= limit ? text : `${characters.slice(0, limit - 1).join("")}…`;
}

/** The forms of the keys, computed again when the keys change. */
function remembered(apiKeys: () => readonly string[]): () => SecretForms {
  let known: { keys: readonly string[]; forms: SecretForms } | undefined;
  return () => {
    const keys = apiKeys();
    const same = known?.keys.length === keys.length && keys.every((key, index) => key === known?.keys[index]);
    if (known === undefined || !same) known = { keys: [...keys], forms: formsOf(keys) };
    return known.forms;
  };
}

/** Format characters vanish, so that they split no secret. White space becomes one space. */
function oneLine(text: string): string {
  if (/^(?:[\x21-\x7e]+(?: [\x21-\x7e]+)*)?$/.test(text)) return text;
  return text
    .toWellFormed()
    .replace(/\s+/g, " ")
    .replace(/[\p{Cc}\p{Cf}\p{Co}]+/gu, "")
    .replace(/ {2,}/g, " ")
    .trim();
}

function replaced(text: string, secrets: SecretForms, label: string): string {
  const ranges = secretRanges(text, secrets).sort((a, b) => a.from - b.from);
  if (ranges.length === 0) return text;
  let shown = "";
  let at = 0;
  for (const { from, to } of merged(ranges)) {
    shown += text.slice(at, from) + label;
    at = to;
  }
  return shown + text.slice(at);
}

/** Overlapping and adjoining ranges as one. `ranges` are sorted. */
function merged(ranges: readonly TextRange[]): TextRange[] {
  const result: TextRange[] = [];
  for (const range of ranges) {
    const last = result.at(-1);
    if (last !== undefined && range.from <= last.to) last.to = Math.max(last.to, range.to);
    else result.push({ ...range });
  }
  return result;
}
