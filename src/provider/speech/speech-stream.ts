import { cleanWords, ServiceError } from "../errors.ts";
import type { Answer } from "../http/answer.ts";
import { speechChunk } from "../wire/speech.ts";
import { createAudioScanner } from "./audio-scanner.ts";
import { createHexDecoder } from "./hex.ts";
import type { AudioChunk } from "./speech-result.ts";

/** A longer line is not held as a whole. */
const SHORT_LINE_BYTES = 64 * 1024;
/** The audio of one long line that is held until its status shows whether it repeats what came before. */
const MAX_HELD_BYTES = 16 * 1024 * 1024;
/** What a long line has besides its audio. */
const MAX_ENVELOPE_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

/**
 * Parses the chunk stream of the synchronous speech operation: lines `data: <JSON>`, status 1 with hex audio, then
 * status 2. Ends normally only after status 2. A status 2 may repeat the whole audio, which is left out. A line of any
 * length is read: the first audio passes on as it arrives, and a repetition is not held.
 *
 * @throws ServiceError `UnreadableResponse` for a line that cannot be parsed, `ConnectionLost` for an end without
 * status 2. The delivery is `Accepted`, because the status was 2xx.
 */
export async function* readSpeechStream(answer: Answer): AsyncGenerator<AudioChunk> {
  const lines = piecesOf(answer.chunks);
  try {
    yield* readLines(answer, lines);
  } finally {
    await lines.return(undefined); // ends the response when the reader leaves early
  }
}

async function* readLines(answer: Answer, lines: AsyncGenerator<Piece>): AsyncGenerator<AudioChunk> {
  const fail = failureOf(answer);
  let hasAudio = false;
  for (let piece = await lines.next(); piece.done !== true; piece = await lines.next()) {
    const { bytes, ends } = piece.value;
    if (!ends) {
      const status = yield* readLongLine(answer, bytes, lines, hasAudio);
      if (status === 2) return;
      hasAudio = true;
      continue;
    }
    const line = bytes.toString("utf8").trim();
    if (line === "" || /^(:|event:|id:|retry:)/.test(line)) continue;
    const chunk = line.startsWith("data:") ? parse(line.slice("data:".length)) : undefined;
    if (chunk === undefined) throw fail(`the stream has a line that is not a chunk: ${shown(answer, line)}`);
    if (chunk.status === 2) return;
    if (chunk.status !== 1) throw fail(`the stream has a chunk without a known status: ${shown(answer, line)}`);
    if (chunk.audio.length % 2 !== 0 || !/^[0-9a-f]*$/i.test(chunk.audio)) throw fail(NOT_HEX);
    if (chunk.audio === "") continue;
    hasAudio = true;
    yield { audio: Buffer.from(chunk.audio, "hex") };
  }
  throw fail("the stream ended before the synthesis was finished", "ConnectionLost");
}

const NOT_HEX = "the stream has a chunk whose audio is not hex";

/**
 * Reads a line that began with `start`, up to its end. The first audio of a stream repeats nothing, so it passes on at once.
 * Later audio is held until the status of its line is known.
 * @returns the status
 */
async function* readLongLine(
  answer: Answer,
  start: Buffer,
  pieces: AsyncGenerator<Piece>,
  hasAudio: boolean,
): AsyncGenerator<AudioChunk, number> {
  const fail = failureOf(answer);
  const prefix = /^\s*data:/.exec(start.subarray(0, 64).toString("latin1"))?.[0];
  if (prefix === undefined) {
    throw fail(`the stream has a line that is not a chunk: ${shown(answer, start.subarray(0, 512).toString("utf8"))}`);
  }
  const scanner = createAudioScanner();
  const hex = createHexDecoder();
  const held: Buffer[] = [];
  let heldBytes = 0;
  const memory = hasAudio ? await answer.reserve(MAX_HELD_BYTES) : undefined;
  try {
    let piece: Piece = { bytes: start.subarray(prefix.length), ends: false };
    for (;;) {
      const audio = hex.push(scanner.push(piece.bytes));
      if (audio === undefined) throw fail(NOT_HEX);
      if (scanner.envelopeBytes() > MAX_ENVELOPE_BYTES) {
        throw fail(`a line is longer than ${MAX_ENVELOPE_BYTES} bytes without its audio`);
      }
      if (!hasAudio && audio.length > 0) yield { audio };
      heldBytes += audio.length;
      if (hasAudio && heldBytes <= MAX_HELD_BYTES) held.push(audio);
      if (piece.ends) break;
      const next = await pieces.next();
      if (next.done === true) break;
      piece = next.value;
    }

    const text = scanner.envelope("").trim();
    const chunk = parse(text);
    if (chunk === undefined) throw fail(`the stream has a line that is not a chunk: ${shown(answer, text)}`);
    if (!hex.whole()) throw fail(NOT_HEX);
    if (chunk.status === 2) return 2;
    if (chunk.status !== 1) throw fail(`the stream has a chunk without a known status: ${shown(answer, text)}`);
    if (hasAudio && heldBytes > MAX_HELD_BYTES) {
      throw fail(`a chunk after the first has more than ${MAX_HELD_BYTES} bytes of audio`);
    }
    for (const audio of held.splice(0)) yield { audio };
    return 1;
  } finally {
    memory?.release();
  }
}

type Piece = { bytes: Buffer; ends: boolean };

/** Lines up to `SHORT_LINE_BYTES` as a whole. A longer line comes in pieces, of which only the last one `ends` it. */
async function* piecesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Piece> {
  let pieces: Buffer[] = [];
  let size = 0;
  const take = (): Buffer => {
    const bytes = Buffer.concat(pieces, size);
    pieces = [];
    size = 0;
    return bytes;
  };
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
  if (size > 0) yield { bytes: take(), ends: true };
}

function parse(json: string) {
  try {
    return speechChunk.safeParse(JSON.parse(json)).data;
  } catch {
    // Not JSON: the caller reports the line.
    return undefined;
  }
}

function shown({ sanitize }: Answer, line: string): string {
  return cleanWords(line, sanitize);
}

function failureOf({ operation, status }: Answer) {
  return (message: string, kind: "UnreadableResponse" | "ConnectionLost" = "UnreadableResponse") =>
    new ServiceError({ operation, kind, delivery: "Accepted", status, message });
}
