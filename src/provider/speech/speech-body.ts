import { cleanWords, ServiceError } from "../errors.ts";
import type { Answer } from "../http/answer.ts";
import { resultURL } from "../tasks/task-result.ts";
import { RESULT_URL } from "../wire/bounds.ts";
import { fieldsOf, requiredText } from "../wire/lenient.ts";
import { createAudioScanner, createHexDecoder } from "./audio-scanner.ts";

/** What the response has besides the audio. The interface shows no other field. */
const MAX_ENVELOPE_BYTES = 1024 * 1024;
/** Stands for hex that has been passed on. */
const PASSED_ON = "00";
const NOTHING = new Uint8Array(0);

/**
 * Reads the response of the synchronous speech operation. Audio in hex goes to `sink` as it arrives, so its length is not
 * limited here. The service may return a URL also when the request asks for the bytes, so the response itself decides.
 * @param sink undefined: the request asks for a URL
 * @throws ServiceError `UnreadableResponse`, with delivery `Accepted` | the error of `sink`
 */
export async function readSpeechBody(answer: Answer, sink: AudioSink | undefined): Promise<SpeechResult> {
  let bytes = 0;
  for await (const { audio, url } of readAudioBody(answer, sink === undefined ? "URL" : "Any")) {
    if (url !== undefined) return { url };
    bytes += audio.length;
    await sink?.(audio);
  }
  return { bytes };
}

/** Reads a JSON object whose field `audio` is hex or a URL. It ends normally only when the object is complete. */
export async function* readAudioBody(answer: Answer, asked: "URL" | "Any"): AsyncGenerator<AudioChunk> {
  const scanner = createAudioScanner();
  const hex = createHexDecoder();
  let text = "";
  let bytes = 0;
  const fail = (message: string) =>
    new ServiceError({
      operation: answer.operation,
      kind: "UnreadableResponse",
      delivery: "Accepted",
      status: answer.status,
      message: `the audio in the response is ${message}`,
    });

  for await (const chunk of answer.chunks) {
    const value = scanner.push(chunk);
    if (scanner.envelopeBytes() > MAX_ENVELOPE_BYTES) {
      throw answer.unreadable(`is larger than ${MAX_ENVELOPE_BYTES} bytes without its audio`);
    }
    if (value.length === 0) continue;
    const decoded = text === "" ? hex.push(value) : undefined;
    if (bytes === 0 && decoded?.isHex !== true) {
      text += Buffer.from(value).toString("utf8");
      if (text.length > RESULT_URL) {
        throw fail(`neither hex nor a URL: ${cleanWords(text, answer.sanitize)}`);
      }
      continue;
    }
    if (asked === "URL") throw fail("not a URL");
    const audio = decoded?.bytes ?? NOTHING;
    bytes += audio.length;
    if (audio.length > 0) yield { audio };
    if (decoded?.isHex === false) throw fail("neither hex nor a URL");
  }

  const envelope = scanner.envelope(text === "" && bytes > 0 ? PASSED_ON : text);
  const audio = answer.parse(envelope, (value) => requiredText(fieldsOf(value), "audio"));
  if (bytes > 0 && hex.whole()) return;
  if (bytes > 0) throw fail("hex with half a byte at its end");
  if (!/^https?:\/\//i.test(audio)) throw fail(asked === "URL" ? "not a URL" : "neither hex nor a URL");
  const url = resultURL(audio, answer.sanitize);
  if (url.kind !== "Usable") throw fail(`a URL that ${url.why}`);
  yield { audio: NOTHING, url: url.url };
}

/** Audio as the service returns it: a URL that works for 24 hours, or bytes, which went to the sink. */
export type SpeechResult = { url: string } | { bytes: number };
/** Takes audio as it arrives. The transfer waits for it. */
export type AudioSink = (audio: Uint8Array) => Promise<void>;
/** A piece of synthesized audio, in the requested format. `url`: of all audio, in place of bytes. */
export type AudioChunk = { audio: Uint8Array; url?: string };
