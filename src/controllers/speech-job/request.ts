import type { SpeechJob, SpeechJobSpec } from "../../api/v1alpha1/speech-job.ts";
import { isSharedLanguage } from "../../api/v1alpha1/speech-languages.ts";
import { characters, pauseMarkerProblem } from "../../api/v1alpha1/speech-text.ts";
import type { SubmitSpeechBody, SynthesizeSpeechBody } from "../../provider/client.ts";
import type { AccountHandle } from "../account/registry.ts";
import { InvalidJobError, type PaidRequest } from "../jobs/types.ts";
import type { ValueReader } from "../references.ts";
import { stream, synthesize } from "./audio.ts";

/** The paid request of a SpeechJob. @throws InvalidJobError | MissingReferenceError */
export async function speechRequest(job: SpeechJob, account: AccountHandle, reader: ValueReader): Promise<PaidRequest> {
  const { spec } = job;
  const text = await textOf(job, reader);
  const limit = spec.model === "speech-2.6-hd" ? account.maxSpeechCharacters : 9_999;
  const length = characters(text);
  if (length < 1 || length > limit) {
    throw new InvalidJobError(`the text has ${length} characters, ${spec.model} takes 1 to ${limit}: split it`);
  }
  const problem = pauseMarkerProblem(text) ?? languageProblem(spec);
  if (problem !== undefined) throw new InvalidJobError(problem);
  if (spec.model === "speech-2.6-hd") {
    const body = submitBody(spec, text);
    return { operation: "submitSpeech", body, send: ({ client, options }) => client.submitSpeech(body, options) };
  }
  const body = synthesizeBody(spec, text);
  const type = audioTypeOf(spec);
  if (spec.stream === true) return { operation: "streamSpeech", body, send: (sending) => stream(body, type, sending) };
  return { operation: "synthesizeSpeech", body, send: (sending) => synthesize(body, type, sending) };
}

/** The file type of the audio; mp3 is the service's default. */
export function audioTypeOf({ audioSetting }: SpeechJobSpec): string {
  return audioSetting?.format ?? "mp3";
}

async function textOf({ spec, metadata }: SpeechJob, reader: ValueReader): Promise<string> {
  const namespace = metadata.namespace ?? "";
  const { secretKeyRef, configMapKeyRef } = spec.textFrom ?? {};
  if (secretKeyRef !== undefined) return reader.secretKey(namespace, secretKeyRef);
  if (configMapKeyRef !== undefined) return reader.configMapKey(namespace, configMapKeyRef);
  return spec.text ?? "";
}

/** Languages differ by model (interface: Speech synthesis). */
function languageProblem({ model, languageBoost }: SpeechJobSpec): string | undefined {
  const unknown = languageBoost !== undefined && model === "speech-2.6-hd" && !isSharedLanguage(languageBoost);
  if (!unknown) return undefined;
  return `languageBoost ${languageBoost} is not known to speech-2.6-hd: choose another language, auto, or speech-2.6-turbo`;
}

/** Fields that the spec leaves out stay undefined and are not sent, so that the service's own defaults hold. */
function shared(spec: SpeechJobSpec, text: string) {
  const { audioSetting: audio, voiceModify: modify } = spec;
  return {
    text,
    audio_setting: audio && {
      sample_rate: audio.sampleRate,
      bitrate: audio.bitrate,
      format: audio.format,
      channel: audio.channel,
    },
    pronunciation_dict: spec.pronunciationDict,
    voice_modify: modify && {
      pitch: modify.pitch,
      intensity: modify.intensity,
      timbre: modify.timbre,
      sound_effects: modify.soundEffects,
    },
  };
}

function voiceSetting({ voiceSetting: voice }: SpeechJobSpec) {
  return {
    voice_id: voice.voiceID,
    speed: voice.speed,
    vol: voice.vol,
    pitch: voice.pitch,
    emotion: voice.emotion,
    text_normalization: voice.textNormalization,
  };
}

function submitBody(spec: SpeechJobSpec, text: string): SubmitSpeechBody {
  return {
    ...shared(spec, text),
    voice_setting: voiceSetting(spec),
    // The asynchronous operation knows fewer languages: see languageProblem.
    language_boost: spec.languageBoost as SubmitSpeechBody["language_boost"],
  };
}

/** The whole audio once more in the last chunk is of no use, and its line may be as long as the whole stream. */
function streamOptions({ streamOptions: options }: SpeechJobSpec) {
  return { exclude_aggregated_audio: options?.excludeAggregatedAudio ?? true };
}

function synthesizeBody(spec: SpeechJobSpec, text: string): Omit<SynthesizeSpeechBody, "stream"> {
  return {
    ...shared(spec, text),
    voice_setting: { ...voiceSetting(spec), latex_read: spec.voiceSetting.latexRead },
    language_boost: spec.languageBoost,
    // Effective without a stream only.
    ...(spec.stream === true ? { stream_options: streamOptions(spec) } : { output_format: spec.outputFormat ?? "url" }),
    timbre_weights: spec.timbreWeights?.map(({ voiceID, weight }) => ({ voice_id: voiceID, weight })),
    aigc_watermark: spec.aigcWatermark,
  };
}
