/** Decodes hex that arrives in pieces of any length. */
export type HexDecoder = {
  /** The bytes that are complete by now; undefined: the text is not hex. */
  push(text: Uint8Array): Buffer | undefined;
  /** Whether the text had whole bytes only. */
  whole(): boolean;
};

export function createHexDecoder(): HexDecoder {
  let half = "";
  return {
    push(text) {
      const digits = half + Buffer.from(text.buffer, text.byteOffset, text.length).toString("latin1");
      half = digits.length % 2 === 0 ? "" : digits.slice(-1);
      const bytes = Buffer.from(digits.slice(0, digits.length - half.length), "hex");
      const isHex = bytes.length * 2 === digits.length - half.length && /^[0-9a-f]?$/i.test(half);
      return isHex ? bytes : undefined;
    },
    whole: () => half === "",
  };
}
