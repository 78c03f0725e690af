/** Bytes of a stored result from `start` to before `end`. */
export type StoredBytes = {
  totalBytes: number;
  start: number;
  end: number;
  chunks: AsyncIterable<Uint8Array>;
  close(): Promise<void>;
};

/** `end` undefined: to the end of the file. */
export type ByteRange = { start: number; end: number | undefined };

/** The part of a file that a range asks for; undefined: the range begins after its end. */
export function partOf(range: ByteRange, totalBytes: number): { start: number; end: number } | undefined {
  const end = Math.min(range.end ?? totalBytes, totalBytes);
  return range.start < end || (range.start === 0 && totalBytes === 0) ? { start: range.start, end } : undefined;
}
