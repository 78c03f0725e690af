import * as z from "zod";
import type { NamespacedObject } from "../../kube/types.ts";
import { celList, celString, flag, int, listOf, text } from "../schema/fields.ts";
import { ruled, type SpecRule } from "../schema/rule.ts";
import { commonJobSpec, commonJobStatus, jobTransitions, REUSE_RULE } from "./job.ts";
import { configMapKeyRefSchema, PENDING_STATUS, secretKeyRefSchema, storeObjectRef } from "./meta.ts";
import { languages, turboLanguages } from "./speech-languages.ts";
import { CEL_MARKER_LIMIT, characters, markerRules, SCHEMA_TEXT_LIMIT, TURBO_TEXT_LIMIT } from "./speech-text.ts";

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

const textSource = ruled(
  z.object({
    secretKeyRef: secretKeyRefSchema.optional(),
    configMapKeyRef: configMapKeyRefSchema.optional(),
    object: storeObjectRef("textFrom.object.key")
      .describe("An object of an ArtifactStore with the text in UTF-8. It is read right before the request is sent.")
      .optional(),
  }),
  [
    {
      cel: "[has(self.secretKeyRef), has(self.configMapKeyRef), has(self.object)].filter(set, set).size() == 1",
      message: "textFrom needs exactly one of secretKeyRef, configMapKeyRef and object: set one, remove the others",
      holds: ({ secretKeyRef, configMapKeyRef, object }) =>
        [secretKeyRef, configMapKeyRef, object].filter((value) => value !== undefined).length === 1,
    },
  ],
).describe("Source of the text; exactly one of text and textFrom is required.");

/** Without the rules between them. */
export const speechJobFields = z.object({
  ...commonJobSpec,
  model: z
    .enum(speechModels)
    .describe("speech-2.6-turbo: short text, synchronous or as a stream. speech-2.6-hd: long text, as a remote task."),
  text: text(
    SCHEMA_TEXT_LIMIT,
    "Text to speak; exactly one of text and textFrom is required. speech-2.6-turbo: fewer than 10000 characters; speech-2.6-hd: up to the account's speech.maxCharacters (50000). A pause is <#x#>, x from 0.01 to 99.99 seconds.",
  ).optional(),
  textFrom: textSource.optional(),
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
  )
    .min(1)
    .optional(),
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

type SpeechFields = z.output<typeof speechJobFields>;

const HD = "self.model == 'speech-2.6-hd'";
const NOT_LOOKED_AT = `!has(self.text) || size(self.text) > ${CEL_MARKER_LIMIT}`;
const streaming = "(has(self.stream) && self.stream)";
const isTurbo = (spec: SpeechFields) => spec.model === "speech-2.6-turbo";
const turboOnly: readonly string[] = turboLanguages;

/** A field that speech-2.6-hd does not have. A flag that is false is allowed. */
function onlyTurbo(field: string, used: string, isUsed: (spec: SpeechFields) => boolean): SpecRule<SpeechFields> {
  return {
    cel: `${HD} ? !(${used}) : true`,
    message: `${field} is for model speech-2.6-turbo only: remove it, or change the model`,
    fieldPath: `.${field}`,
    holds: (spec) => isTurbo(spec) || !isUsed(spec),
  };
}

/** The rules of the speech operations, and of audio without a URL (interface: Speech synthesis). */
const speechRules: readonly SpecRule<SpeechFields>[] = [
  {
    cel: "has(self.text) != has(self.textFrom)",
    message: "exactly one of text and textFrom is required: set one, remove the other",
    holds: (spec) => (spec.text === undefined) !== (spec.textFrom === undefined),
  },
  {
    cel: `${HD} || !has(self.text) || size(self.text) < ${TURBO_TEXT_LIMIT}`,
    message: `text must be shorter than ${TURBO_TEXT_LIMIT} characters with model speech-2.6-turbo: shorten it, or use speech-2.6-hd`,
    fieldPath: ".text",
    holds: (spec) => !isTurbo(spec) || spec.text === undefined || characters(spec.text) < TURBO_TEXT_LIMIT,
  },
  ...markerRules.map(({ matches, wanted, message, holds }) => ({
    cel: `${NOT_LOOKED_AT} || ${wanted ? "" : "!"}self.text.matches(${celString(matches)})`,
    message,
    fieldPath: ".text",
    holds: (spec: SpeechFields) => spec.text === undefined || holds(spec.text),
  })),
  {
    cel: `${HD} || has(self.voiceSetting.voiceID) != has(self.timbreWeights)`,
    message: "exactly one of voiceSetting.voiceID and timbreWeights is required: set one, remove the other",
    holds: (spec) => !isTurbo(spec) || (spec.voiceSetting.voiceID === undefined) !== (spec.timbreWeights === undefined),
  },
  onlyTurbo("timbreWeights", "has(self.timbreWeights)", (spec) => spec.timbreWeights !== undefined),
  onlyTurbo("stream", streaming, (spec) => spec.stream === true),
  onlyTurbo("streamOptions", "has(self.streamOptions)", (spec) => spec.streamOptions !== undefined),
  onlyTurbo("outputFormat", "has(self.outputFormat)", (spec) => spec.outputFormat !== undefined),
  onlyTurbo("aigcWatermark", "has(self.aigcWatermark) && self.aigcWatermark", (spec) => spec.aigcWatermark === true),
  onlyTurbo(
    "voiceSetting.latexRead",
    "has(self.voiceSetting.latexRead) && self.voiceSetting.latexRead",
    (spec) => spec.voiceSetting.latexRead === true,
  ),
  {
    cel: `${HD} && has(self.languageBoost) ? !(self.languageBoost in ${celList(turboLanguages)}) : true`,
    message:
      "languageBoost must be auto or one of Chinese to Hindi with model speech-2.6-hd: choose one of these, or use speech-2.6-turbo",
    fieldPath: ".languageBoost",
    holds: (spec) => isTurbo(spec) || spec.languageBoost === undefined || !turboOnly.includes(spec.languageBoost),
  },
  {
    cel: "!(has(self.outputFormat) && self.outputFormat == 'hex') || has(self.output)",
    message:
      "outputFormat hex needs output, the only place for the bytes: set output.storeRef, or use outputFormat url",
    fieldPath: ".outputFormat",
    holds: (spec) => spec.outputFormat !== "hex" || spec.output !== undefined,
  },
  {
    cel: `!${streaming} || has(self.output)`,
    message: "stream needs output, the only place for the bytes: set output.storeRef, or remove stream",
    fieldPath: ".stream",
    holds: (spec) => spec.stream !== true || spec.output !== undefined,
  },
  {
    cel: `!${streaming} || !(has(self.outputFormat) && self.outputFormat == 'url')`,
    message: "outputFormat url cannot be used with stream, which returns hex only: remove outputFormat or stream",
    fieldPath: ".outputFormat",
    holds: (spec) => spec.stream !== true || spec.outputFormat !== "url",
  },
  {
    cel: `!has(self.streamOptions) || ${HD} || ${streaming}`,
    message: "streamOptions needs stream: true; set it, or remove streamOptions",
    fieldPath: ".streamOptions",
    holds: (spec) => spec.streamOptions === undefined || !isTurbo(spec) || spec.stream === true,
  },
  {
    cel: `!${streaming} || !(has(self.aigcWatermark) && self.aigcWatermark)`,
    message: "aigcWatermark has no effect with stream: remove aigcWatermark or stream",
    fieldPath: ".aigcWatermark",
    holds: (spec) => spec.stream !== true || spec.aigcWatermark !== true,
  },
  REUSE_RULE,
  {
    cel: "!has(self.voiceModify) || !has(self.audioSetting) || !has(self.audioSetting.format) || self.audioSetting.format != 'pcm'",
    message: "voiceModify cannot be used with audioSetting.format pcm: use mp3, wav or flac, or remove voiceModify",
    fieldPath: ".voiceModify",
    holds: (spec) => spec.voiceModify === undefined || spec.audioSetting?.format !== "pcm",
  },
  {
    cel: `!${streaming} || !has(self.voiceModify) || !has(self.audioSetting) || !has(self.audioSetting.format) || !(self.audioSetting.format in ['wav', 'flac'])`,
    message:
      "voiceModify with stream needs audioSetting.format mp3: change the format, or remove voiceModify or stream",
    fieldPath: ".voiceModify",
    holds: (spec) =>
      spec.stream !== true ||
      spec.voiceModify === undefined ||
      (spec.audioSetting?.format !== "wav" && spec.audioSetting?.format !== "flac"),
  },
];

export const speechJobSpecSchema = ruled(
  speechJobFields,
  speechRules,
  jobTransitions("SpeechJob", speechJobFields),
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
