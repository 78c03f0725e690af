import * as z from "zod";
import type { NamespacedObject } from "../../kube/types.ts";
import { flag, int, listOf, text } from "../schema/fields.ts";
import { ruled } from "../schema/rule.ts";
import { commonJobSpec, commonJobStatus, jobTransitions } from "./job.ts";
import { PENDING_STATUS, valueSource } from "./meta.ts";
import { languages } from "./speech-languages.ts";
import { speechRules } from "./speech-rules.ts";
import { SCHEMA_TEXT_LIMIT } from "./speech-text.ts";

export const speechModels = ["speech-2.6-turbo", "speech-2.6-hd"] as const;

const number = (description: string) => z.number().describe(description);
const integer = (description: string) => int(-2_147_483_648, description);

const voiceSettingSchema = z
  .object({
    voiceID: text(255, "The voice. speech-2.6-turbo needs exactly one of voiceID and timbreWeights.").optional(),
    speed: number("Speed of the speech, as the service defines it.").optional(),
    vol: number("Volume of the speech, as the service defines it.").optional(),
    pitch: number("Pitch of the speech, as the service defines it.").optional(),
    emotion: text(64, "Emotion of the voice, as the service names it.").optional(),
    latexRead: flag("Read LaTeX formulas; speech-2.6-turbo only.").optional(),
    textNormalization: flag("Normalise numbers and dates before speaking.").optional(),
  })
  .describe("The voice and how it speaks.");

const audioSettingSchema = z
  .object({
    sampleRate: int(1, "Samples a second, in Hz.").optional(),
    bitrate: int(1, "Bits a second.").optional(),
    format: z.enum(["mp3", "pcm", "flac", "wav"]).describe("mp3, pcm, flac or wav.").optional(),
    channel: int(1, "Number of channels.").optional(),
  })
  .describe("Format of the audio.");

const timbreWeightSchema = z.object({
  voiceID: text(255, "A voice of the mix."),
  weight: z.number().min(0).describe("Its share, in proportion to the other weights."),
});

const voiceModifySchema = z
  .object({
    pitch: integer("Pitch, as the service defines it.").optional(),
    intensity: integer("Intensity, as the service defines it.").optional(),
    timbre: integer("Timbre, as the service defines it.").optional(),
    soundEffects: text(64, "Sound effect, as the service names it.").optional(),
  })
  .describe("Changes the voice; formats mp3, wav and flac, when streaming mp3 only.");

const streamOptionsSchema = z
  .object({
    excludeAggregatedAudio: flag(
      "Leave the complete audio out of the last chunk, which Mooring does not use. Default true.",
    ).optional(),
  })
  .describe("How the stream is sent; speech-2.6-turbo with stream only.");

export const speechJobFields = z.object({
  ...commonJobSpec,
  model: z
    .enum(speechModels)
    .describe("speech-2.6-turbo: short text, synchronous or as a stream. speech-2.6-hd: long text, as a remote task."),
  text: text(
    SCHEMA_TEXT_LIMIT,
    "Text to speak; exactly one of text and textFrom is required. speech-2.6-turbo: fewer than 10000 characters; speech-2.6-hd: up to the account's speech.maxCharacters (50000). A pause is <#x#>, x from 0.01 to 99.99 seconds.",
  ).optional(),
  textFrom: valueSource("textFrom", "Source of the text; exactly one of text and textFrom is required.").optional(),
  voiceSetting: voiceSettingSchema.prefault({}),
  audioSetting: audioSettingSchema.optional(),
  pronunciationDict: z
    .object({ tone: listOf(z.looseObject({}), 256, "Pronunciations, as the service defines them; at most 256.") })
    .describe("How words are pronounced.")
    .optional(),
  timbreWeights: listOf(
    timbreWeightSchema,
    16,
    "A mix of voices, at most 16; speech-2.6-turbo only, instead of voiceSetting.voiceID.",
  ).optional(),
  stream: flag(
    "Receive the audio as a stream of chunks; speech-2.6-turbo only, needs output. Default false.",
  ).optional(),
  streamOptions: streamOptionsSchema.optional(),
  languageBoost: z
    .enum(languages)
    .describe("Language to improve; auto lets the service decide. speech-2.6-hd supports fewer. Default: none.")
    .optional(),
  outputFormat: z
    .enum(["url", "hex"])
    .describe(
      "url: the result is a URL, valid for 24 hours. hex: the result is the bytes, needs output. speech-2.6-turbo without stream only. Default url.",
    )
    .optional(),
  voiceModify: voiceModifySchema.optional(),
  aigcWatermark: flag(
    "Add a rhythm mark at the end of the audio; speech-2.6-turbo without stream only. Default false.",
  ).optional(),
});

export const speechJobSpecSchema = ruled(
  speechJobFields,
  speechRules,
  jobTransitions("SpeechJob", {
    model: "required",
    text: "optional",
    textFrom: "optional",
    voiceSetting: "required",
    audioSetting: "optional",
    pronunciationDict: "optional",
    timbreWeights: "optional",
    stream: "optional",
    streamOptions: "optional",
    languageBoost: "optional",
    outputFormat: "optional",
    voiceModify: "optional",
    aigcWatermark: "optional",
  }),
).describe("The speech to synthesize. Immutable except suspend, ttlSecondsAfterFinished and activeDeadlineSeconds.");
export type SpeechJobSpec = z.output<typeof speechJobSpecSchema>;

export const speechJobStatusSchema = z
  .object({
    ...commonJobStatus,
    firstAudioMs: int(0, "Milliseconds from the request to the first audio of a stream.").optional(),
  })
  .default(PENDING_STATUS)
  .describe("Progress and results of the job.");
export type SpeechJobStatus = z.output<typeof speechJobStatusSchema>;

export type SpeechJob = NamespacedObject<SpeechJobSpec, SpeechJobStatus>;
