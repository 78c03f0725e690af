import { cleanWords, ServiceError } from "../errors.ts";
import { speechChunk } from "../wire/speech.ts";

/** The last line may hold all the audio of 10,000 characters, in hex. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;

/** A piece of synthesized audio, in the requested format. */
export type AudioChunk = { audio: Uint8Array };

/**
 * Parses the chunk stream of the synchronous speech operation: lines `data: <JSON>`, status 1 with hex audio, then
 * status 2. Ends normally only after status 2. A status 2 may repeat the whole audio, which is left out.
 *
 * @throws ServiceError `UnreadableResponse` for a line that cannot be parsed, `ConnectionLost` for an end without
 * status 2. The delivery is `Unknown`, because the synthesis had started.
 */
export async function* readSpeechStream(
  status: number,
  chunks: AsyncIterable<Uint8Array>,
  apiKey: string,
): AsyncGenerator<AudioChunk> {
  const fail = (kind: "UnreadableResponse" | "ConnectionLost", message: string) =>
    new ServiceError({ operation: "streamSpeech", kind, delivery: "Unknown", status, message });

  for await (const line of linesOf(chunks, () =>
    fail("UnreadableResponse", `a line is longer than ${MAX_LINE_BYTES} bytes`),
  )) {
    if (line === "" || /^(:|event:|id:|retry:)/.test(line)) continue;
    const words = () => cleanWords(line, apiKey);
    const chunk = line.startsWith("data:") ? parse(line.slice("data:".length)) : undefined;
    if (chunk === undefined) throw fail("UnreadableResponse", `the stream has a line that is not a chunk: ${words()}`);
    if (chunk.status === 2) return;
    if (chunk.status !== 1)
      throw fail("UnreadableResponse", `the stream has a chunk without a known status: ${words()}`);
    if (chunk.audio.length % 2 !== 0 || !/^[0-9a-f]*$/i.test(chunk.audio)) {
      throw fail("UnreadableResponse", "the stream has a chunk whose audio is not hex");
    }
    if (chunk.audio !== "") yield { audio: Buffer.from(chunk.audio, "hex") };
  }
  throw fail("ConnectionLost", "the stream ended before the synthesis was finished");
}

function parse(json: string) {
  try {
    return speechChunk.safeParse(JSON.parse(json)).data;
  } catch {
    // Not JSON: the caller reports the line.
    return undefined;
  }
}

async function* linesOf(chunks: AsyncIterable<Uint8Array>, tooLong: () => Error): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  // The pieces of a line are joined when it ends. Joining at every piece would cost the square of its length.
  let pieces: string[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    const parts = decoder.decode(chunk, { stream: true }).split("\n");
    const last = parts.pop() ?? "";
    for (const part of parts) {
      yield [...pieces, part].join("").trim();
      pieces = [];
      size = 0;
    }
    pieces.push(last);
    size += last.length;
    if (size > MAX_LINE_BYTES) throw tooLong();
  }
  const rest = [...pieces, decoder.decode()].join("").trim();
  if (rest !== "") yield rest;
}
