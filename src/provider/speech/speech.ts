import type { ServiceClient } from "../client.ts";
import type { Speech } from "../types.ts";
import { streamBody, submitBody, synthesizeBody } from "./body.ts";

export function createSpeech(
  client: Pick<ServiceClient, "synthesizeSpeech" | "streamSpeech" | "submitSpeech">,
): Speech {
  return {
    synthesize: (request, options, sink) => client.synthesizeSpeech(synthesizeBody(request), options, sink),
    stream: (request, options) => client.streamSpeech(streamBody(request), options),
    submit: (request, options) => client.submitSpeech(submitBody(request), options),
  };
}
