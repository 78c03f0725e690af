const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPENING_LIST = 0x5b;
const OPENINGS = [0x7b, OPENING_LIST];
const CLOSINGS = [0x7d, 0x5d];
const LONGEST_NAME = 64;

/** Where the parts of a page are, as byte offsets. */
export type PageParts = {
  /** The elements of the list, each without the separators around it. */
  elements: { from: number; to: number }[];
  /** The list with its brackets; undefined: the page has none of this name. */
  list: { from: number; to: number } | undefined;
};

/** Why a page is not read. */
export type PageBreach = "TooManyElements" | "ElementTooLarge" | "ListTwice";

export type PageScanner = {
  /** Takes the bytes from the last offset up to `to`. Returns why the page is not read, if so. */
  scan(to: number): PageBreach | undefined;
  /** After the last byte; undefined when the page is torn within its list. */
  parts(): PageParts | undefined;
};

export type PageLimits = {
  /** Most elements of the list. */
  elements: number;
  /** Largest element, in bytes, and with the values in it. */
  elementBytes: number;
  elementValues: number;
};

/**
 * Finds the elements of the list `name` in the JSON object `bytes`, without parsing it: so each element can be parsed by itself,
 * and a hostile list is refused before any of it becomes an object. What is no JSON shows when the parts are parsed.
 */
export function createPageScanner(bytes: Buffer, name: string, limits: PageLimits): PageScanner {
  const elements: PageParts["elements"] = [];
  let list: { from: number; to: number | undefined } | undefined;
  let at = 0;
  let depth = 0;
  const text = { inside: false, escaped: false };
  /** Begin of the last text at depth 1, and whether it is a key. */
  let textFrom = 0;
  let key = "";
  let atKey = true;
  let elementFrom = 0;
  let values = 0;

  const inList = () => list !== undefined && list.to === undefined;

  function endElement(to: number, last: boolean): PageBreach | undefined {
    // Nothing between the brackets is an empty list. Anything else without a value fails when it is parsed.
    if (!last || elements.length > 0 || !isBlank(bytes, elementFrom, to)) elements.push({ from: elementFrom, to });
    elementFrom = to + 1;
    values = 0;
    return elements.length > limits.elements ? "TooManyElements" : undefined;
  }

  function open(byte: number): "ListTwice" | undefined {
    depth += 1;
    if (depth !== 2 || byte !== OPENING_LIST || key !== name) return undefined;
    if (list !== undefined) return "ListTwice";
    list = { from: at, to: undefined };
    elementFrom = at + 1;
  }

  function close(): PageBreach | undefined {
    depth -= 1;
    if (depth !== 1 || !inList() || list === undefined) return undefined;
    list.to = at + 1;
    return endElement(at, true);
  }

  function step(byte: number): PageBreach | undefined {
    if (byte === QUOTE) {
      text.inside = true;
      textFrom = at + 1;
    } else if (OPENINGS.includes(byte)) {
      values += 1;
      return open(byte);
    } else if (CLOSINGS.includes(byte)) return close();
    else if (byte === COMMA) {
      values += 1;
      if (depth === 2 && inList()) return endElement(at, false);
      if (depth === 1) atKey = true;
    } else if (byte === COLON && depth === 1) atKey = false;
    return undefined;
  }

  return {
    scan(to) {
      for (; at < to; at++) {
        const byte = bytes[at] ?? 0;
        if (text.inside) {
          const isKey = endsText(text, byte) && depth === 1 && atKey;
          if (isKey) key = at - textFrom > LONGEST_NAME ? "" : bytes.toString("utf8", textFrom, at);
          continue;
        }
        const breach = step(byte) ?? (inList() && values > limits.elementValues ? "ElementTooLarge" : undefined);
        if (breach !== undefined) return breach;
      }
      return inList() && at - elementFrom > limits.elementBytes ? "ElementTooLarge" : undefined;
    },
    parts() {
      if (list === undefined) return { elements, list };
      return list.to === undefined ? undefined : { elements, list: { from: list.from, to: list.to } };
    },
  };
}

/** Takes a byte within a text. Returns whether it ends the text. */
function endsText(text: { inside: boolean; escaped: boolean }, byte: number): boolean {
  if (text.escaped) text.escaped = false;
  else if (byte === BACKSLASH) text.escaped = true;
  else if (byte === QUOTE) text.inside = false;
  return !text.inside;
}

function isBlank(bytes: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (![0x20, 0x09, 0x0a, 0x0d].includes(bytes[at] ?? 0)) return false;
  return true;
}

/** Number of values in a JSON text, at least: of what stands between separators. */
export function countValues(bytes: Buffer): number {
  let count = 0;
  const text = { inside: false, escaped: false };
  for (const byte of bytes) {
    if (text.inside) endsText(text, byte);
    else if (byte === QUOTE) text.inside = true;
    else if (byte === COMMA || OPENINGS.includes(byte)) count += 1;
  }
  return count;
}
