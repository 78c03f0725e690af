/** Writes bits, most significant first. */
export type BitWriter = {
  /** The `count` (at most 32) low bits of `value`. */
  bits(value: number, count: number): void;
  /** Exp-Golomb, unsigned (H.264: ue(v)). */
  ue(value: number): void;
  /** Exp-Golomb, signed (H.264: se(v)). */
  se(value: number): void;
  /** Zero bits up to the next byte. */
  align(): void;
  bytes(): Buffer;
};

export function createBitWriter(): BitWriter {
  const bytes: number[] = [];
  let current = 0;
  let filled = 0;
  const bits = (value: number, count: number) => {
    for (let bit = count - 1; bit >= 0; bit--) {
      current = (current << 1) | ((value >>> bit) & 1);
      filled += 1;
      if (filled === 8) {
        bytes.push(current);
        current = 0;
        filled = 0;
      }
    }
  };
  const ue = (value: number) => {
    const length = Math.floor(Math.log2(value + 1));
    bits(0, length);
    bits(value + 1, length + 1);
  };
  return {
    bits,
    ue,
    se: (value) => ue(value > 0 ? 2 * value - 1 : -2 * value),
    align: () => {
      if (filled > 0) bits(0, 8 - filled);
    },
    bytes: () => Buffer.from(bytes),
  };
}
