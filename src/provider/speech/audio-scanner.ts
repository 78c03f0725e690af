type ScanState = "Between" | "Text" | "Audio";

const QUOTE = 0x22;
const COLON = 0x3a;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPENING = [0x7b, 0x5b];
const CLOSING = [0x7d, 0x5d];
const NOTHING = new Uint8Array(0);

/**
 * Scans one JSON object as its bytes arrive, and separates the value of its field `audio` from the rest. So a response with hours of audio
 * needs no more memory than a short one.
 */
export function createAudioScanner() {
  const before: Buffer[] = [];
  const after: Buffer[] = [];
  let rest = before;
  let size = 0;
  let depth = 0;
  let place: ScanState = "Between";
  let escaped = false;
  /** Whether the next string of the object itself is a key. */
  let atKey = true;
  let key = "";

  const inAudio = () => place === "Audio";

  /** Scans one byte outside of the audio. */
  function step(byte: number): void {
    if (place === "Text") {
      if (escaped) escaped = false;
      else if (byte === BACKSLASH) escaped = true;
      else if (byte === QUOTE) place = "Between";
      if (place === "Text" && depth === 1 && atKey && key.length < 8) key += String.fromCharCode(byte);
      return;
    }
    if (byte === QUOTE) {
      if (depth === 1 && !atKey && key === "audio" && rest === before) place = "Audio";
      else {
        place = "Text";
        if (depth === 1 && atKey) key = "";
      }
    } else if (OPENING.includes(byte)) depth += 1;
    else if (CLOSING.includes(byte)) depth -= 1;
    else if (depth === 1 && byte === COLON) atKey = false;
    else if (depth === 1 && byte === COMMA) atKey = true;
  }

  function keep(bytes: Buffer): void {
    if (bytes.length === 0) return;
    rest.push(Buffer.from(bytes));
    size += bytes.length;
  }

  return {
    /** Takes the next bytes. Returns those of the value of `audio`, as they are spelled in the JSON string. */
    push(chunk: Uint8Array): Uint8Array {
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
      let at = 0;
      if (!inAudio()) {
        while (at < bytes.length && !inAudio()) step(bytes[at++] ?? 0);
        keep(bytes.subarray(0, at));
        if (!inAudio() || at === bytes.length) return NOTHING;
      }
      const value = bytes.subarray(at);
      const { end, escapes } = endOfText(value, escaped);
      escaped = escapes;
      if (end === -1) return value;
      place = "Between";
      rest = after;
      const left = value.subarray(end);
      for (const byte of left.subarray(1)) step(byte);
      keep(left);
      return value.subarray(0, end);
    },
    /** The object with `value` in place of what the string `audio` had. */
    envelope: (value: string) =>
      `${Buffer.concat(before).toString("utf8")}${value}${Buffer.concat(after).toString("utf8")}`,
    /** Length of everything but the audio. */
    envelopeBytes: () => size,
  };
}

/** The end of a text in `bytes`, or -1: a quote that no backslash precedes. `escaped`, `escapes`: a backslash precedes what follows. */
function endOfText(bytes: Buffer, escaped: boolean): { end: number; escapes: boolean } {
  let escapes = escaped;
  for (let at = 0; ; at += 1) {
    const quote = bytes.indexOf(QUOTE, at);
    const slashes = bytes.subarray(at, quote === -1 ? bytes.length : quote);
    if (slashes.includes(BACKSLASH) || escapes) {
      for (const byte of slashes) escapes = !escapes && byte === BACKSLASH;
      if (quote !== -1 && escapes) {
        escapes = false;
        at = quote;
        continue;
      }
    }
    return { end: quote, escapes };
  }
}

/** Decodes hex that arrives in pieces of any length. */
export function createHexDecoder() {
  let half = "";
  return {
    /** The bytes that are complete by now. `isHex` false: what follows them is not hex. */
    push(text: Uint8Array): { bytes: Buffer; isHex: boolean } {
      const digits = half + Buffer.from(text.buffer, text.byteOffset, text.length).toString("latin1");
      const bytes = Buffer.from(digits, "hex"); // up to the first pair that is not hex
      half = digits.slice(bytes.length * 2);
      const isHex = /^[0-9a-f]?$/i.test(half);
      if (!isHex) half = "";
      return { bytes, isHex };
    },
    /** Whether the text had whole bytes only. */
    whole: () => half === "",
  };
}
