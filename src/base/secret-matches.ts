/** Part of a text, as string indexes. */
export type TextRange = { from: number; to: number };

/** Secrets in the forms in which a text can quote them. */
export type SecretForms = {
  /** The secrets themselves, folded. */
  plain: readonly Form[];
  /** The part of their base64 that is the same at each alignment, and their hex, folded. */
  encoded: readonly Form[];
};

/** `blocks`: the parts of `text` that begin at a multiple of `BLOCK`, made at the first use. */
type Form = { text: string; blocks(): readonly string[] };

/** A folded text. `origin`: where each of its characters comes from; default: the same index of the original text. */
type View = { text: string; origin?: () => Origin };
/** By the index of a character in the view: where its part of the original text begins (`at`) and ends (`to`). */
type Origin = { at: readonly number[]; to: readonly number[] };

/** A shorter value is no secret, and hiding it would make messages unreadable. */
const SHORTEST = 4;
/** A shorter piece of an encoding is found in many texts. */
const SHORTEST_ENCODED = 8;
/** This many characters in a row that a text shares with a longer secret count as a quotation. */
const EXCERPT = 16;
/** Every excerpt contains a whole block of this length that begins at a multiple of it. */
const BLOCK = EXCERPT / 2;
/** The few blocks of a shorter secret are searched for one by one; for a longer one, the text is indexed. */
const SHORT_SECRET = 512;
/** Most places of one block that are checked: a repetitive text must not cost the square of its length. */
const PLACES = 32;
const NOWHERE: readonly number[] = [];

const WHITE_SPACE = /\s+/g;
/** What JSON escapes; white space too, so that the view has none. */
const JSON_TOKEN = /\\u[0-9a-f]{4}|\\["\\/bfnrt]|\s+/gi;
/** What URLs escape. `+` is a space in a form. */
const URL_TOKEN = /(?:%[0-9a-f]{2})+|\+|\s+/gi;

/** @param shortest characters without white space; a shorter value is left out */
export function formsOf(secrets: readonly string[], shortest: number = SHORTEST): SecretForms {
  const plain: Form[] = [];
  const encoded: Form[] = [];
  for (const secret of secrets) {
    const text = squeezed(fold(secret));
    if (text.length < Math.max(shortest, SHORTEST)) continue;
    plain.push(formOf(text));
    const bytes = Buffer.from(secret, "utf8");
    for (const form of [bytes.toString("hex"), ...[0, 1, 2].map((offset) => base64At(bytes, offset))]) {
      if (form.length >= SHORTEST_ENCODED) encoded.push(formOf(fold(form)));
    }
  }
  return { plain, encoded };
}

function formOf(text: string): Form {
  let blocks: readonly string[] | undefined;
  return {
    text,
    blocks() {
      blocks ??= Array.from({ length: Math.floor(text.length / BLOCK) }, (_, index) =>
        text.slice(index * BLOCK, (index + 1) * BLOCK),
      );
      return blocks;
    },
  };
}

/**
 * Where a text quotes one of the secrets: as it is, in another case, with white space in between, escaped as in JSON or in a
 * URL, or as base64, base64url or hex, also within a longer encoded text. `excerpts`: a part of a long secret counts too.
 */
export function secretRanges(text: string, secrets: SecretForms, { excerpts = true } = {}): TextRange[] {
  if (isTooShort(text, secrets.plain) && isTooShort(text, secrets.encoded)) return [];
  const folded = fold(text);
  const view = viewOf(folded, WHITE_SPACE, () => "");
  const found: TextRange[] = [];
  addMatches(found, view, secrets.plain, excerpts);
  if (folded.includes("\\")) addMatches(found, viewOf(folded, JSON_TOKEN, fromJSON), secrets.plain, excerpts);
  if (/[%+]/.test(folded)) addMatches(found, viewOf(folded, URL_TOKEN, fromURL), secrets.plain, excerpts);
  const base64 = view.text.replaceAll("-", "+").replaceAll("_", "/");
  addMatches(found, { ...view, text: base64 }, secrets.encoded, excerpts);
  return found;
}

/** Whether a text has room for no form of a secret, and for no excerpt of one. A view is never longer than its text. */
function isTooShort({ length }: string, forms: readonly Form[]): boolean {
  return forms.every(({ text }) => length < text.length && (length < EXCERPT || text.length <= EXCERPT));
}

function addMatches(found: TextRange[], { text, origin }: View, forms: readonly Form[], excerpts: boolean): void {
  const first = found.length;
  let blocks: Map<string, readonly number[]> | undefined;
  for (const form of forms) {
    addWholeMatches(found, text, form.text);
    if (!excerpts || text.length < EXCERPT || form.text.length <= EXCERPT) continue;
    const isShort = form.text.length <= SHORT_SECRET;
    if (!isShort) blocks ??= blocksOf(text);
    addExcerpts(found, text, form, isShort ? undefined : blocks);
  }
  if (found.length === first || origin === undefined) return;
  const { at, to } = origin();
  for (const range of found.slice(first)) {
    range.to = to[range.to - 1] ?? range.to;
    range.from = at[range.from] ?? range.from;
  }
}

function addWholeMatches(found: TextRange[], text: string, form: string): void {
  for (let from = text.indexOf(form); from >= 0; from = text.indexOf(form, from + form.length)) {
    found.push({ from, to: from + form.length });
  }
}

function placesOf(text: string, block: string): readonly number[] {
  let at = text.indexOf(block);
  if (at < 0) return NOWHERE;
  const places: number[] = [];
  for (; at >= 0 && places.length < PLACES; at = text.indexOf(block, at + 1)) places.push(at);
  return places;
}

/** Where each block of characters begins in the text. */
function blocksOf(text: string): Map<string, number[]> {
  const blocks = new Map<string, number[]>();
  for (let at = 0; at + BLOCK <= text.length; at++) {
    const block = text.slice(at, at + BLOCK);
    const places = blocks.get(block);
    if (places === undefined) blocks.set(block, [at]);
    else if (places.length < PLACES) places.push(at);
  }
  return blocks;
}

/** Adds the parts of the text that are excerpts of the secret. `blocks`: where each block begins in the text; default: searched for. */
function addExcerpts(
  found: TextRange[],
  text: string,
  form: Form,
  blocks: ReadonlyMap<string, readonly number[]> | undefined,
): void {
  const secret = form.text;
  let covered: Uint8Array | undefined;
  let at = -BLOCK;
  for (const block of form.blocks()) {
    at += BLOCK;
    const places = blocks === undefined ? placesOf(text, block) : (blocks.get(block) ?? NOWHERE);
    for (const place of places) {
      covered ??= new Uint8Array(text.length);
      if (covered[place] === 1) continue;
      let before = 0;
      while (before < Math.min(place, at) && text[place - before - 1] === secret[at - before - 1]) before++;
      let after = BLOCK;
      const most = Math.min(text.length - place, secret.length - at);
      while (after < most && text[place + after] === secret[at + after]) after++;
      if (before + after < EXCERPT) continue;
      const range = { from: place - before, to: place + after };
      covered.fill(1, range.from, range.to);
      found.push(range);
    }
  }
}

/** Replaces each token. */
function viewOf(text: string, token: RegExp, decode: (token: string) => string): View {
  if (text.search(token) < 0) return { text };
  return { text: text.replace(token, decode), origin: () => originOf(text, token, decode) };
}

/** The origin of each character of a view. */
function originOf(text: string, token: RegExp, decode: (token: string) => string): Origin {
  const at: number[] = [];
  const to: number[] = [];
  let last = 0;
  const keep = (end: number) => {
    for (let index = last; index < end; index++) {
      at.push(index);
      to.push(index + 1);
    }
  };
  for (const { 0: found, index } of text.matchAll(token)) {
    keep(index);
    const { length } = decode(found);
    for (let one = 0; one < length; one++) {
      at.push(index);
      to.push(index + found.length);
    }
    last = index + found.length;
  }
  keep(text.length);
  return { at, to };
}

function fromJSON(token: string): string {
  const letter = token[1] ?? "";
  if (token[0] !== "\\" || "bfnrt".includes(letter)) return "";
  return squeezed(fold(letter === "u" ? String.fromCharCode(Number.parseInt(token.slice(2), 16)) : letter));
}

function fromURL(token: string): string {
  if (token[0] !== "%") return "";
  return squeezed(fold(Buffer.from(token.replaceAll("%", ""), "hex").toString("utf8")));
}

/** The characters of base64 that do not depend on what comes before and after, when `offset` bytes come before. */
function base64At(bytes: Buffer, offset: number): string {
  const whole = Buffer.concat([Buffer.alloc(offset), bytes]);
  const text = whole.toString("base64").replaceAll("=", "");
  return text.slice(Math.ceil((offset * 8) / 6), Math.floor((whole.length * 8) / 6));
}

/** In lower case, letter by letter (a whole word can change with its neighbors), with as many characters as before. */
function fold(text: string): string {
  if (/^[\x20-\x7e]*$/.test(text)) return text.toLowerCase();
  return text.replace(/\p{Lu}/gu, (letter) => {
    const lower = letter.toLowerCase();
    return lower.length === letter.length ? lower : letter;
  });
}

function squeezed(text: string): string {
  return text.replace(WHITE_SPACE, "");
}
