/** A longer line is not held as a whole. */
const SHORT_LINE_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

/** A line, or a part of a long one. `ends`: the line ends with it. */
export type Piece = { bytes: Buffer; ends: boolean };

/**
 * Lines up to 64 KiB as a whole. A longer line comes in pieces, of which only the last one `ends` it. What a broken transfer gave of its
 * last line comes before its error.
 */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Piece, undefined> {
  let pieces: Buffer[] = [];
  let size = 0;
  const take = (): Buffer => {
    const bytes = Buffer.concat(pieces, size);
    pieces = [];
    size = 0;
    return bytes;
  };
  let failure: { error: unknown } | undefined;
  try {
    for await (const chunk of chunks) {
      let rest = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
      for (let end = rest.indexOf(NEWLINE); end !== -1; end = rest.indexOf(NEWLINE)) {
        pieces.push(rest.subarray(0, end));
        size += end;
        rest = rest.subarray(end + 1);
        yield { bytes: take(), ends: true };
      }
      pieces.push(rest);
      size += rest.length;
      if (size > SHORT_LINE_BYTES) yield { bytes: take(), ends: false };
    }
  } catch (error) {
    failure = { error };
  }
  if (size > 0) yield { bytes: take(), ends: true };
  if (failure !== undefined) throw failure.error;
}

/** A JSON text that was split into lines. Line breaks mean nothing in it. */
export async function* unlined(first: Piece, rest: AsyncIterable<Piece>): AsyncGenerator<Uint8Array> {
  yield first.bytes;
  for await (const { bytes } of rest) yield bytes;
}
