import { synthesize } from "../audio.ts";
import { chargeFor, checkMoney } from "../charging.ts";
import type { RouteTable } from "../dispatch.ts";
import type { KeyIdentity } from "../keys.ts";
import { submitSpeechBody, synthesizeSpeechBody } from "../requests/speech.ts";
import type { Service } from "../service.ts";
import { checked } from "../validate.ts";

/** Serves speech: synchronous, in one body or as a stream of chunks, and asynchronous. */
export function speechRoutes(routes: RouteTable, service: Service): void {
  const { config, files, now, tasks } = service;

  routes.add({
    method: "POST",
    path: "/v3/vendor-speech-2.6-turbo",
    operation: (body) => (wantsStream(body) ? "streamSpeech" : "synthesizeSpeech"),
    handle: async ({ body, key, baseURL }) => {
      const request = checked(synthesizeSpeechBody, body, config().unknownFields);
      checkMoney(service, key);
      const { speechTurboPerThousandCharacters } = config().prices;
      charge(service, key, {
        product: "speech-2.6-turbo",
        text: request.text,
        unitPrice: speechTurboPerThousandCharacters,
      });
      const audio = synthesize(request.text, request.audio_setting, config());
      const effect = "SpeechSynthesized";
      if (request.stream === true) return { lines: chunks(audio.bytes, service), effect };
      await service.sleep(config().speechLatencyMs * config().timeScale);
      if (request.output_format !== "url") return { body: { audio: audio.bytes.toString("hex") }, effect };
      const file = files.add({
        name: `speech.${audio.format}`,
        contentType: audio.contentType,
        head: audio.bytes,
        padding: 0,
        expiresAtMs: now() + config().speechUrlSeconds * 1000,
      });
      return { body: { audio: `${baseURL}/__files/${file.id}/${file.name}` }, effect };
    },
  });

  routes.add({
    method: "POST",
    path: "/v3/async/vendor-speech-2.6-hd",
    operation: "submitSpeech",
    handle: ({ body, key }) => {
      const { speechMaxCharacters, speechTaskMs, speechUrlSeconds, taskTypes, prices, unknownFields } = config();
      const request = checked(submitSpeechBody(speechMaxCharacters), body, unknownFields);
      checkMoney(service, key);
      const task = tasks.submit({
        type: taskTypes.speech,
        memberID: key.memberID,
        text: request.text,
        durationMs: speechTaskMs,
        urlSeconds: speechUrlSeconds,
        make: () => {
          const { format, contentType, bytes } = synthesize(request.text, request.audio_setting, config());
          return { field: "audios", format, contentType, head: bytes, padding: 0 };
        },
        charge: () =>
          charge(service, key, {
            product: "speech-2.6-hd",
            text: request.text,
            unitPrice: prices.speechHDPerThousandCharacters,
          }),
      });
      return { body: { task_id: task.id }, effect: "TaskSubmitted", id: task.id };
    },
  });
}

type SpeechCall = { product: string; text: string; unitPrice: number };

function charge(service: Service, key: KeyIdentity, { product, text, unitPrice }: SpeechCall): void {
  const usage = [...text].length;
  chargeFor(service, key, {
    productID: product,
    productName: product,
    category: "gen_api",
    usage,
    unitPrice,
    per: 1000,
  });
}

function wantsStream(body: unknown): boolean {
  return typeof body === "object" && body !== null && "stream" in body && body.stream === true;
}

const SEPARATORS = { BlankLine: "\n\n", Newline: "\n", CRLF: "\r\n\r\n" };

/** Yields the chunks of a stream: status 1 with hex audio, and last, status 2. */
async function* chunks(audio: Buffer, service: Service): AsyncGenerator<string> {
  const { streamChunkBytes, streamChunkMs, streamEnd, streamSeparator, timeScale } = service.config();
  const lineOf = (chunk: object) => `data: ${JSON.stringify(chunk)}${SEPARATORS[streamSeparator]}`;
  for (let start = 0; start < audio.length; start += streamChunkBytes) {
    const piece = audio.subarray(start, start + streamChunkBytes);
    yield lineOf({ audio: piece.toString("hex"), status: 1 });
    await service.sleep(streamChunkMs * timeScale);
  }
  yield lineOf({ ...(streamEnd === "WholeAudio" ? { audio: audio.toString("hex") } : {}), status: 2 });
}
