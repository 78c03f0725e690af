import type { ServiceClient } from "../client.ts";
import { ServiceError } from "../errors.ts";
import type { Speech, SpeechResult } from "../types.ts";
import { streamBody, submitBody, synthesizeBody } from "./body.ts";

export function createSpeech(
  client: Pick<ServiceClient, "synthesizeSpeech" | "streamSpeech" | "submitSpeech">,
): Speech {
  return {
    async synthesize(request, options) {
      const { audio } = await client.synthesizeSpeech(synthesizeBody(request), options);
      return speechResult(audio, request.outputFormat);
    },
    stream: (request, options) => client.streamSpeech(streamBody(request), options),
    submit: (request, options) => client.submitSpeech(submitBody(request), options),
  };
}

/** The service may return a URL also when the request asks for the bytes, so the response itself decides. */
function speechResult(audio: string, outputFormat: "url" | "hex"): SpeechResult {
  if (/^https?:\/\//i.test(audio)) return { url: audio };
  const isHex = audio.length % 2 === 0 && /^[0-9a-f]*$/i.test(audio);
  if (outputFormat === "hex" && isHex) return { audio: Buffer.from(audio, "hex") };
  throw new ServiceError({
    operation: "synthesizeSpeech",
    kind: "UnreadableResponse",
    delivery: "Unknown",
    message: `the audio in the response is ${outputFormat === "hex" ? "neither hex nor a URL" : "not a URL"}`,
  });
}
