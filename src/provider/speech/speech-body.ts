import { cleanWords, ServiceError } from "../errors.ts";
import type { Answer } from "../http/answer.ts";
import { resultURL } from "../tasks/result-url.ts";
import { RESULT_URL } from "../wire/bounds.ts";
import { speechAnswer } from "../wire/speech.ts";
import { createAudioScanner } from "./audio-scanner.ts";
import { createHexDecoder } from "./hex.ts";
import type { AudioSink, SpeechResult } from "./speech-result.ts";

/** What the response has besides the audio. The interface shows no other field. */
const MAX_ENVELOPE_BYTES = 1024 * 1024;
/** Stands for hex that has been passed on. */
const PASSED_ON = "00";

/**
 * Reads the response of the synchronous speech operation. Audio in hex goes to `sink` as it arrives, so its length is not
 * limited here. The service may return a URL also when the request asks for the bytes, so the response itself decides.
 * @param sink undefined: the request asks for a URL
 * @throws ServiceError `UnreadableResponse`, with delivery `Accepted` | the error of `sink`
 */
export async function readSpeechBody(answer: Answer, sink: AudioSink | undefined): Promise<SpeechResult> {
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
    if (decoded === undefined) {
      if (bytes > 0) throw fail("neither hex nor a URL");
      text += Buffer.from(value).toString("utf8");
      if (text.length > RESULT_URL) {
        throw fail(`neither hex nor a URL: ${cleanWords(text, answer.sanitize)}`);
      }
      continue;
    }
    if (sink === undefined) throw fail("not a URL");
    bytes += decoded.length;
    if (decoded.length > 0) await sink(decoded);
  }

  const { audio } = answer.parse(scanner.envelope(text === "" && bytes > 0 ? PASSED_ON : text), speechAnswer);
  if (bytes > 0 && hex.whole()) return { bytes };
  if (/^https?:\/\//i.test(audio)) {
    const url = resultURL(audio, answer.sanitize);
    if (url.kind === "Usable") return { url: url.url };
    throw fail(`a URL that ${url.why}`);
  }
  throw fail(sink === undefined ? "not a URL" : "neither hex nor a URL");
}
