/** Collects bytes up to a limit; grows as needed and is used again, so that short streams stay small. */
export type PartBuffer = {
  room(): number;
  size(): number;
  /** Takes what fits and returns the rest. */
  take(chunk: Uint8Array): Uint8Array;
  /** What was taken, valid until `clear`. */
  bytes(): Uint8Array;
  clear(): void;
};

const FIRST_BYTES = 64 * 1024;

export function createPartBuffer(limit: number): PartBuffer {
  let buffer = Buffer.alloc(0);
  let size = 0;

  function grow(wanted: number): void {
    if (wanted <= buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.min(limit, Math.max(FIRST_BYTES, wanted, buffer.length * 2)));
    buffer.copy(larger, 0, 0, size);
    buffer = larger;
  }

  return {
    room: () => limit - size,
    size: () => size,
    take(chunk) {
      const taken = Math.min(chunk.length, limit - size);
      grow(size + taken);
      buffer.set(chunk.subarray(0, taken), size);
      size += taken;
      return chunk.subarray(taken);
    },
    bytes: () => buffer.subarray(0, size),
    clear: () => {
      size = 0;
    },
  };
}
