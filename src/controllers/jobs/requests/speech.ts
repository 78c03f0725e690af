import type { SpeechJob, SpeechJobSpec } from "../../../api/v1alpha1/speech-job.ts";
import { characters, pauseMarkerProblem } from "../../../api/v1alpha1/speech-text.ts";
import type { SpeechRequest } from "../../../provider/speech/body.ts";
import type { AccountHandle } from "../../account/registry.ts";
import type { Kind } from "../../controller-deps.ts";
import { referencesOf, type ValueReader } from "../../references.ts";
import { InvalidJobError, type JobAdapter, type PaidRequest, type SendContext } from "../types.ts";
import { stream, synthesize } from "./audio.ts";

export function speechJobAdapter(kind: Kind<SpeechJob>): JobAdapter<SpeechJob> {
  return {
    kind,
    prepare: speechRequest,
    references: ({ spec, metadata }) => referencesOf(metadata.namespace, [{ valueFrom: spec.textFrom }]),
    secrets: async (job, reader) => secretsOf(job, await textOf(job, reader)),
    typeOfBytes: ({ spec }) => (spec.stream || spec.outputFormat === "hex" ? audioTypeOf(spec) : undefined),
    extraStatus: () => ({}),
  };
}

/** Removes the text of the request from the copy of a finished job: nothing sends it again. */
export function dropSpeechTexts({ spec }: SpeechJob): void {
  delete spec.text;
  delete spec.pronunciationDict;
}

/** The paid request of a SpeechJob. @throws InvalidJobError | StalledError */
export async function speechRequest(
  job: SpeechJob,
  account: Pick<AccountHandle, "maxSpeechCharacters">,
  reader: ValueReader,
): Promise<PaidRequest> {
  const { spec } = job;
  const text = await textOf(job, reader);
  const limit = spec.model === "speech-2.6-hd" ? account.maxSpeechCharacters : SHORT_TEXT_CHARACTERS;
  const length = characters(text);
  if (length < 1 || length > limit) {
    throw new InvalidJobError(`the text has ${length} characters, ${spec.model} takes 1 to ${limit}: split it`);
  }
  const problem = pauseMarkerProblem(text);
  if (problem !== undefined) throw new InvalidJobError(problem);
  const hidden = secretsOf(job, text);
  const consumption = { unit: "Characters", quantity: length } as const;
  if (spec.model === "speech-2.6-hd") {
    const body: SpeechRequest = commonRequest(spec, text);
    return {
      operation: "submitSpeech",
      consumption,
      body,
      send: ({ session, options }) => session.speech.submit(body, { ...options, hidden }),
    };
  }
  const type = audioTypeOf(spec);
  if (spec.stream === true) {
    const excludeAggregatedAudio = spec.streamOptions?.excludeAggregatedAudio ?? true;
    const body = { ...shortSpeechRequest(spec, text), excludeAggregatedAudio };
    const send: PaidRequest["send"] = (sending) => stream(body, type, hiding(sending, hidden));
    return { operation: "streamSpeech", consumption, body, send };
  }
  const body = { ...shortSpeechRequest(spec, text), outputFormat: spec.outputFormat ?? "url" };
  const send: PaidRequest["send"] = (sending) => synthesize(body, type, hiding(sending, hidden));
  return { operation: "synthesizeSpeech", consumption, body, send };
}

/** A text from a Secret or a ConfigMap is not shown in any message. */
function secretsOf({ spec }: SpeechJob, text: string): string[] {
  return spec.textFrom === undefined ? [] : [text];
}

function hiding(sending: SendContext, hidden: readonly string[]): SendContext {
  return { ...sending, options: { ...sending.options, hidden } };
}

/** Most characters of speech-2.6-turbo (interface: Limits). */
const SHORT_TEXT_CHARACTERS = 9_999;

/** The file type of the audio; mp3 is the service's default. */
function audioTypeOf({ audioSetting }: SpeechJobSpec): string {
  return audioSetting?.format ?? "mp3";
}

async function textOf({ spec, metadata }: SpeechJob, reader: ValueReader): Promise<string> {
  const { namespace } = metadata;
  const { secretKeyRef, configMapKeyRef, object } = spec.textFrom ?? {};
  if (secretKeyRef !== undefined) return reader.secretKey(namespace, secretKeyRef);
  if (configMapKeyRef !== undefined) return reader.configMapKey(namespace, configMapKeyRef);
  if (object !== undefined) return reader.storeObject(namespace, object);
  return spec.text ?? "";
}

function shortSpeechRequest(spec: SpeechJobSpec, text: string): SpeechRequest {
  const { timbreWeights, aigcWatermark } = spec;
  return { ...commonRequest(spec, text), timbreWeights, aigcWatermark };
}

function commonRequest(spec: SpeechJobSpec, text: string) {
  const { voiceSetting, audioSetting, pronunciationDict, voiceModify, languageBoost } = spec;
  return { text, voiceSetting, audioSetting, pronunciationDict, voiceModify, languageBoost };
}
