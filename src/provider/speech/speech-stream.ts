import { cleanWords, ServiceError } from "../errors.ts";
import type { Answer } from "../http/answer.ts";
import { jsonIn } from "../wire/json.ts";
import { toFields, toNumber } from "../wire/lenient.ts";
import { createAudioMemory } from "./audio-memory.ts";
import { createAudioScanner, createHexDecoder } from "./audio-scanner.ts";
import { type AudioChunk, readAudioBody } from "./speech-body.ts";

/** Hex of one line that is held while it equals the audio before, until its status shows whether it repeats that audio. */
const MAX_HELD_BYTES = 16 * 1024 * 1024;
/** What a line has besides its audio. */
const MAX_ENVELOPE_BYTES = 64 * 1024;
const NOT_HEX = "the stream has a chunk whose audio is not hex";
/** Lines of server-sent events that carry no chunk. Some services end a stream with `[DONE]`, which proves nothing here. */
const NO_CHUNK = /^(?:$|:|event:|id:|retry:|data:\s*\[DONE\]\s*$)/;

/**
 * Parses the chunk stream of the synchronous speech operation: lines `data: <JSON>`, status 1 with hex audio, then
 * status 2. It passes on all audio that can be read, also after a line that cannot, and ends normally only after status 2 with
 * nothing missing. Audio of the last line is left out as far as it repeats all audio before it. Instead of a stream, the
 * response can be one JSON object, as without `stream`.
 *
 * @throws ServiceError `UnreadableResponse` for the first line that could not be read, `ConnectionLost` for an end without
 * status 2. The delivery is `Accepted`, because the status was 2xx.
 */
export async function* readSpeechStream(answer: Answer): AsyncGenerator<AudioChunk> {
  const lines = linesOf(answer.chunks);
  try {
    let first = await lines.next();
    while (first.done !== true && isBlank(first.value)) first = await lines.next();
    const isObject = first.done !== true && /^\s*\{/.test(headOf(first.value));
    if (first.done === true || !isObject) yield* readLines(answer, first, lines);
    else yield* readAudioBody({ ...answer, chunks: unlined(first.value, lines) }, "Any");
  } finally {
    await lines.return(undefined); // ends the response when the reader leaves early
  }
}

type Lines = AsyncGenerator<Piece, undefined>;
type Fail = ReturnType<typeof failureOf>;

async function* readLines(
  answer: Answer,
  first: IteratorResult<Piece, undefined>,
  lines: Lines,
): AsyncGenerator<AudioChunk> {
  const fail = failureOf(answer);
  const audio = createAudioSoFar(fail);
  for (let next = first; next.done !== true; next = await lines.next()) {
    if (yield* readLine(answer, audio, next.value, lines)) {
      audio.assertWhole();
      return;
    }
  }
  audio.assertWhole();
  throw fail("the stream ended before the synthesis was finished", "ConnectionLost");
}

type AudioSoFar = ReturnType<typeof createAudioSoFar>;

/** The audio of a stream so far, and what could not be read of it. */
function createAudioSoFar(fail: Fail) {
  const memory = createAudioMemory();
  /** A byte can be split between two chunks. */
  let hex = createHexDecoder();
  const problems: string[] = [];
  let others = 0;

  function note(problem: string): void {
    if (problems.length === 0) problems.push(problem);
    else others += 1;
  }

  function* pass(audio: Buffer): Generator<AudioChunk> {
    if (audio.length === 0) return;
    memory.add(audio);
    yield { audio };
  }

  return {
    memory,
    note,
    pass,
    *decode(text: Uint8Array): Generator<AudioChunk> {
      const { bytes, isHex } = hex.push(text);
      if (!isHex) note(NOT_HEX);
      yield* pass(bytes);
    },
    /** Continues with the decoder of a line whose audio was compared. */
    decodeWith(decoder: typeof hex): void {
      hex = decoder;
    },
    /** @throws ServiceError for the first thing that could not be read */
    assertWhole(): void {
      if (!hex.whole()) note(NOT_HEX);
      const [problem] = problems;
      if (problem !== undefined) throw fail(others === 0 ? problem : `${problem} (and ${others} more)`);
    },
  };
}

/** Reads the line that begins with `start`. Returns whether it ends the stream. */
async function* readLine(
  answer: Answer,
  audio: AudioSoFar,
  start: Piece,
  lines: Lines,
): AsyncGenerator<AudioChunk, boolean> {
  if (start.ends && NO_CHUNK.test(start.bytes.subarray(0, 512).toString("utf8").trim())) return false;
  const prefix = /^\s*data:/.exec(headOf(start))?.[0];
  const scanner = createAudioScanner();
  const line = createHeldLine(audio);
  const reserved = start.ends || audio.memory.bytes() === 0 ? undefined : await answer.reserve(MAX_HELD_BYTES);
  try {
    let piece: Piece = { ...start, bytes: start.bytes.subarray(prefix?.length ?? 0) };
    for (;;) {
      const text = scanner.push(piece.bytes);
      if (scanner.envelopeBytes() > MAX_ENVELOPE_BYTES) {
        const problem = `a line is longer than ${MAX_ENVELOPE_BYTES} bytes without its audio`;
        throw failureOf(answer)(`${problem}: ${shown(answer, headOf(start))}`);
      }
      if (prefix !== undefined && text.length > 0) yield* line.take(text);
      if (piece.ends) break;
      const next = await lines.next();
      if (next.done === true) break;
      piece = next.value;
    }
    const text = scanner.envelope("").trim();
    const status = prefix === undefined ? undefined : statusOf(text);
    yield* line.end(status);
    if (status === undefined) {
      const quoted = shown(answer, prefix === undefined ? headOf(start) : text);
      audio.note(`the stream has a line that is not a chunk with a status: ${quoted}`);
    }
    return status === 2;
  } finally {
    reserved?.();
  }
}

/** The audio of one line, which is held as long as it may repeat all audio before it. */
function createHeldLine({ memory, note, pass, decode, decodeWith }: AudioSoFar) {
  const before = memory.bytes();
  const comparison = memory.compare();
  const own = createHexDecoder();
  let held: Uint8Array[] | undefined = before > 0 ? [] : undefined;
  let heldBytes = 0;
  let bytes = 0;
  let isDropped = false;
  /** What follows a repetition. */
  const rest: Buffer[] = [];

  function* release(texts: readonly Uint8Array[]): Generator<AudioChunk> {
    held = undefined;
    for (const text of texts) yield* decode(text);
  }

  return {
    *take(text: Uint8Array): Generator<AudioChunk> {
      if (held === undefined) return yield* decode(text);
      const decoded = own.push(text);
      const repeated = Math.max(0, before - bytes);
      bytes += decoded.bytes.length;
      if (!comparison.matches(decoded.bytes) || !decoded.isHex)
        return yield* release(isDropped ? [text] : [...held, text]);
      rest.push(Buffer.from(decoded.bytes.subarray(repeated)));
      heldBytes += text.length + decoded.bytes.length;
      if (heldBytes <= MAX_HELD_BYTES) held.push(Buffer.from(text));
      else {
        // Nothing but a repetition equals so much audio.
        isDropped = true;
        held.length = 0;
        for (const audio of rest.splice(0)) yield* pass(audio);
      }
    },
    *end(status: number | undefined): Generator<AudioChunk> {
      if (held === undefined || held.length + bytes === 0) return;
      if (isDropped && status === 1) note(`a chunk repeats ${before} bytes of the audio before it and is left out`);
      const repeats = isDropped || (status !== 1 && bytes >= before);
      if (!repeats) return yield* release(held);
      decodeWith(own);
      for (const audio of rest.splice(0)) yield* pass(audio);
    },
  };
}

function statusOf(json: string): 1 | 2 | undefined {
  const status = toNumber(toFields(jsonIn(json))["status"]);
  return status === 1 || status === 2 ? status : undefined;
}

const headOf = ({ bytes }: Piece) => bytes.subarray(0, 512).toString("utf8");
const isBlank = ({ bytes, ends }: Piece) => ends && bytes.toString("utf8").trim() === "";

function shown({ sanitize }: Answer, line: string): string {
  return cleanWords(line, sanitize);
}

function failureOf({ operation, status }: Answer) {
  return (message: string, kind: "UnreadableResponse" | "ConnectionLost" = "UnreadableResponse") =>
    new ServiceError({ operation, kind, delivery: "Accepted", status, message });
}

// Lines

/** A longer line is not held as a whole. */
const SHORT_LINE_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

/** A line, or a part of a long one. `ends`: the line ends with it. */
type Piece = { bytes: Buffer; ends: boolean };

/**
 * Lines up to 64 KiB as a whole. A longer line comes in pieces, of which only the last one `ends` it. What a broken transfer gave of its
 * last line comes before its error.
 */
async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Piece, undefined> {
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
async function* unlined(first: Piece, rest: AsyncIterable<Piece>): AsyncGenerator<Uint8Array> {
  yield first.bytes;
  for await (const { bytes } of rest) yield bytes;
}
