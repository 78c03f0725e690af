/** Decodes hex that arrives in pieces of any length. */
export type HexDecoder = {
  /** The bytes that are complete by now. `isHex` false: what follows them is not hex. */
  push(text: Uint8Array): { bytes: Buffer; isHex: boolean };
  /** Whether the text had whole bytes only. */
  whole(): boolean;
};

export function createHexDecoder(): HexDecoder {
  let half = "";
  return {
    push(text) {
      const digits = half + Buffer.from(text.buffer, text.byteOffset, text.length).toString("latin1");
      const bytes = Buffer.from(digits, "hex"); // up to the first pair that is not hex
      half = digits.slice(bytes.length * 2);
      const isHex = /^[0-9a-f]?$/i.test(half);
      if (!isHex) half = "";
      return { bytes, isHex };
    },
    whole: () => half === "",
  };
}
