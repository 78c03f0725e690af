/** Part of a text, as string indexes. */
export type Range = { from: number; to: number };

/** A secret in the forms in which a text can quote it. */
export type SecretForms = {
  /** The secret itself, folded. */
  plain: string;
  /** What stays the same of its base64 at each alignment, and its hex, folded. */
  encoded: readonly string[];
};

/** A folded text, and where each of its characters comes from. Without `at` and `to`, every character stands for itself. */
type View = { text: string; at?: readonly number[]; to?: readonly number[] };

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
/** Places of one block in a text that are looked at: a text that repeats itself must not cost the square of its length. */
const PLACES = 32;

const WHITE_SPACE = /\s+/g;
/** What JSON escapes; white space too, so that the view has none. */
const JSON_TOKEN = /\\u[0-9a-f]{4}|\\["\\/bfnrt]|\s+/gi;
/** What URLs escape. `+` is a space in a form. */
const URL_TOKEN = /(?:%[0-9a-f]{2})+|\+|\s+/gi;

/** The forms of a secret; undefined for a value that is too short to be one. */
export function formsOf(secret: string): SecretForms | undefined {
  const plain = squeezed(fold(secret));
  if (plain.length < SHORTEST) return undefined;
  const bytes = Buffer.from(secret, "utf8");
  const encoded = [bytes.toString("hex"), ...[0, 1, 2].map((offset) => base64At(bytes, offset))]
    .filter((form) => form.length >= SHORTEST_ENCODED)
    .map((form) => fold(form));
  return { plain, encoded };
}

/**
 * Where a text quotes one of the secrets: as it is, in another case, with white space in between, escaped as in JSON or in a
 * URL, or as base64, base64url or hex, also within a longer encoded text. `excerpts`: a part of a long secret counts too.
 */
export function secretRanges(text: string, secrets: readonly SecretForms[], { excerpts = true } = {}): Range[] {
  if (text.length < SHORTEST || secrets.length === 0) return [];
  const folded = fold(text);
  const plain = viewOf(folded, WHITE_SPACE, () => "");
  const views = [plain];
  if (folded.includes("\\")) views.push(viewOf(folded, JSON_TOKEN, fromJSON));
  if (/[%+]/.test(folded)) views.push(viewOf(folded, URL_TOKEN, fromURL));
  const base64 = { ...plain, text: plain.text.replaceAll("-", "+").replaceAll("_", "/") };
  return [
    ...views.flatMap((view) => matchesIn(view, secrets, ({ plain: form }) => [form], excerpts)),
    ...matchesIn(base64, secrets, ({ encoded }) => encoded, excerpts),
  ];
}

function matchesIn(
  view: View,
  secrets: readonly SecretForms[],
  forms: (secret: SecretForms) => readonly string[],
  excerpts: boolean,
): Range[] {
  const { text } = view;
  let blocks: Map<string, readonly number[]> | undefined;
  const places = (form: string): PlacesOf => {
    if (form.length <= SHORT_SECRET) return (block) => placesOf(text, block);
    blocks ??= blocksOf(text);
    const known = blocks;
    return (block) => known.get(block) ?? [];
  };
  const parts = (form: string) =>
    excerpts && text.length >= EXCERPT && form.length > EXCERPT ? excerptsOf(text, form, places(form)) : [];
  return secrets
    .flatMap(forms)
    .flatMap((form) => [...wholeMatches(text, form), ...parts(form)])
    .map(({ from, to }) => ({ from: view.at?.[from] ?? from, to: view.to?.[to - 1] ?? to }));
}

function wholeMatches(text: string, form: string): Range[] {
  const ranges: Range[] = [];
  for (let from = text.indexOf(form); from >= 0; from = text.indexOf(form, from + form.length)) {
    ranges.push({ from, to: from + form.length });
  }
  return ranges;
}

/** Where a block of characters begins in a text. */
type PlacesOf = (block: string) => readonly number[];

function placesOf(text: string, block: string): number[] {
  const places: number[] = [];
  for (let at = text.indexOf(block); at >= 0 && places.length < PLACES; at = text.indexOf(block, at + 1)) {
    places.push(at);
  }
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

/** The parts of the text that are excerpts of the secret. */
function excerptsOf(text: string, secret: string, placesOfBlock: PlacesOf): Range[] {
  const ranges: Range[] = [];
  const covered = new Uint8Array(text.length);
  for (let at = 0; at + BLOCK <= secret.length; at += BLOCK) {
    for (const place of placesOfBlock(secret.slice(at, at + BLOCK))) {
      if (covered[place] === 1) continue;
      let before = 0;
      while (before < Math.min(place, at) && text[place - before - 1] === secret[at - before - 1]) before++;
      let after = BLOCK;
      const most = Math.min(text.length - place, secret.length - at);
      while (after < most && text[place + after] === secret[at + after]) after++;
      if (before + after < EXCERPT) continue;
      const range = { from: place - before, to: place + after };
      covered.fill(1, range.from, range.to);
      ranges.push(range);
    }
  }
  return ranges;
}

/** Replaces each token, and remembers for each character which part of the text it stands for. */
function viewOf(text: string, token: RegExp, decode: (token: string) => string): View {
  const at: number[] = [];
  const to: number[] = [];
  const parts: string[] = [];
  let last = 0;
  const keep = (end: number) => {
    parts.push(text.slice(last, end));
    for (let index = last; index < end; index++) {
      at.push(index);
      to.push(index + 1);
    }
  };
  for (const { 0: found, index } of text.matchAll(token)) {
    keep(index);
    const decoded = decode(found);
    parts.push(decoded);
    for (let one = 0; one < decoded.length; one++) {
      at.push(index);
      to.push(index + found.length);
    }
    last = index + found.length;
  }
  if (last === 0) return { text };
  keep(text.length);
  return { text: parts.join(""), at, to };
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
