/** A number of 16 digits or more: a double cannot hold each of them. In a string, it only costs time. */
const LONG_NUMBER = /(?:^|[:[,\s])-?\d{16}/;
const INTEGER = /^-?\d+$/;

/**
 * Parses JSON without loss: an integer that a double cannot hold is the text of its digits, as the service spells it. The readers of
 * lenient.ts take both.
 * @throws SyntaxError
 */
export function parseJSON(text: string): unknown {
  return LONG_NUMBER.test(text) ? JSON.parse(text, exactly) : JSON.parse(text);
}

function exactly(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  const source = context?.source;
  return source !== undefined && INTEGER.test(source) ? source : value;
}

/** The value of a JSON text; undefined for any other text. */
export function jsonIn(text: string): unknown {
  try {
    return parseJSON(text);
  } catch {
    return undefined;
  }
}

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OBJECT, OBJECT_END, LIST, LIST_END] = [0x7b, 0x7d, 0x5b, 0x5d];
/** Deepest nesting of an answer. What the interface shows has seven levels. */
const LEVELS = 100;

/**
 * Whether a JSON text has more than `most` values, or more than 100 levels. Parsing it would take too much memory, and working with it
 * too much of the stack.
 */
export function isTooComplex(bytes: Buffer, most: number): boolean {
  let values = 0;
  let level = 0;
  for (let at = 0; at < bytes.length && values <= most && level <= LEVELS; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfText(bytes, at);
    else if (byte === COMMA) values++;
    else if (byte === OBJECT || byte === LIST) {
      values++;
      level++;
    } else if (byte === OBJECT_END || byte === LIST_END) level--;
  }
  return values > most || level > LEVELS;
}

/** The index of the quote that ends the text that begins at `from`. */
function endOfText(bytes: Buffer, from: number): number {
  let at = from + 1;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}

/** A part of a text, as byte offsets. */
export type ByteSpan = { from: number; to: number };

/**
 * The elements of the list `name` of a JSON object, without parsing it. Returns the list with its brackets; undefined: there is none, or it
 * has no end. What is no JSON shows when the parts are parsed.
 */
export function* elementsIn(bytes: Buffer, name: string): Generator<ByteSpan, ByteSpan | undefined> {
  let level = 0;
  let text: ByteSpan = { from: 0, to: 0 };
  let isNamed = false;
  let list: ByteSpan | undefined;
  let from = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      const to = endOfText(bytes, at);
      if (level === 1) text = { from: at + 1, to };
      at = to;
    } else if (byte === COLON && level === 1) isNamed = bytes.toString("utf8", text.from, text.to) === name;
    else if (byte === COMMA && level === 2 && list !== undefined) {
      yield { from, to: at };
      from = at + 1;
    } else if (byte === OBJECT || byte === LIST) {
      level++;
      if (level !== 2 || byte === OBJECT || !isNamed) continue;
      list = { from: at, to: at };
      from = at + 1;
    } else if (byte === OBJECT_END || byte === LIST_END) {
      level--;
      if (level !== 1 || list === undefined) continue;
      // Nothing between the brackets is an empty list.
      if (from > list.from + 1 || bytes.toString("utf8", from, at).trim() !== "") yield { from, to: at };
      return { from: list.from, to: at + 1 };
    }
  }
  return undefined;
}
