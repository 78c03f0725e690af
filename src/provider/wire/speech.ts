import * as z from "zod";
import { isRecord, lenientNumber, lenientText, requiredText } from "./lenient.ts";
import { characters } from "./rules.ts";

/** Speech synthesis (interface: Speech synthesis, synchronous and asynchronous). */

/** Languages of the asynchronous operation, without `auto`. */
const LANGUAGES_SHARED = [
  "Chinese",
  "Chinese,Yue",
  "English",
  "Arabic",
  "Russian",
  "Spanish",
  "French",
  "Portuguese",
  "German",
  "Turkish",
  "Dutch",
  "Ukrainian",
  "Vietnamese",
  "Indonesian",
  "Japanese",
  "Italian",
  "Korean",
  "Thai",
  "Polish",
  "Romanian",
  "Greek",
  "Czech",
  "Finnish",
  "Hindi",
] as const;

export const LANGUAGES_HD = [...LANGUAGES_SHARED, "auto"] as const;
export const LANGUAGES_TURBO = [
  ...LANGUAGES_SHARED,
  "Bulgarian",
  "Danish",
  "Hebrew",
  "Malay",
  "Persian",
  "Slovak",
  "Swedish",
  "Croatian",
  "Filipino",
  "Hungarian",
  "Norwegian",
  "Slovenian",
  "Catalan",
  "Nynorsk",
  "Tamil",
  "Afrikaans",
  "auto",
] as const;

export const AUDIO_FORMATS = ["mp3", "pcm", "flac", "wav"] as const;

const PAUSE_LIKE = /<#[^<>#]*#>/g;
const PAUSE = /^<#(\d{1,2}(?:\.\d{1,2})?)#>$/;
const CONSECUTIVE = /<#[^<>#]*#>\s*<#[^<>#]*#>/;

/** Why the pause markers of a text break the rules, or undefined. `<#x#>`: x in 0.01-99.99, never two in a row, between two texts. */
export function pauseProblem(text: string): string | undefined {
  for (const [marker] of text.matchAll(PAUSE_LIKE)) {
    const seconds = Number(PAUSE.exec(marker)?.[1] ?? Number.NaN);
    if (!(seconds >= 0.01 && seconds <= 99.99)) {
      return `has the pause ${marker}: seconds must be 0.01 to 99.99 with at most two decimals`;
    }
  }
  if (CONSECUTIVE.test(text)) return "has two pauses in a row";
  const spoken = text.trim();
  if (/^<#[^<>#]*#>/.test(spoken) || /<#[^<>#]*#>$/.test(spoken)) return "has a pause that is not between two texts";
  return undefined;
}

const speechText = (maxCharacters: number) =>
  characters(1, maxCharacters).superRefine((text, context) => {
    const problem = pauseProblem(text);
    if (problem !== undefined) context.addIssue({ code: "custom", message: problem, input: text });
  });

const voiceSettingFields = {
  speed: z.number().optional(),
  vol: z.number().optional(),
  pitch: z.number().optional(),
  voice_id: z.string().optional(),
  emotion: z.string().optional(),
  text_normalization: z.boolean().optional(),
};

const shared = {
  audio_setting: z
    .strictObject({
      sample_rate: z.int().optional(),
      bitrate: z.int().optional(),
      format: z.enum(AUDIO_FORMATS).optional(),
      channel: z.int().optional(),
    })
    .optional(),
  pronunciation_dict: z.strictObject({ tone: z.array(z.record(z.string(), z.unknown())).optional() }).optional(),
  voice_modify: z
    .strictObject({
      pitch: z.int().optional(),
      intensity: z.int().optional(),
      timbre: z.int().optional(),
      sound_effects: z.string().optional(),
    })
    .optional(),
};

type FormatAndVoice = {
  stream?: boolean | undefined;
  voice_modify?: object | undefined;
  audio_setting?: { format?: string | undefined } | undefined;
};
const voiceModifyFits = (body: FormatAndVoice) => {
  if (body.voice_modify === undefined || body.audio_setting?.format === undefined) return true;
  return body.stream === true ? body.audio_setting.format === "mp3" : body.audio_setting.format !== "pcm";
};
const voiceModifyRule = {
  path: ["voice_modify"],
  error: "is usable with mp3, wav and flac when not streaming and with mp3 when streaming",
};

/** Body of the synchronous operation: text shorter than 10000 characters; a voice_id or timbre_weights. */
export const synthesizeSpeechRequest = z
  .strictObject({
    text: speechText(9_999),
    voice_setting: z.strictObject({ ...voiceSettingFields, latex_read: z.boolean().optional() }),
    ...shared,
    timbre_weights: z.array(z.strictObject({ voice_id: z.string().min(1), weight: z.number() })).optional(),
    stream: z.boolean().optional(),
    stream_options: z.strictObject({ exclude_aggregated_audio: z.boolean().optional() }).optional(),
    language_boost: z.enum(LANGUAGES_TURBO).nullable().optional(),
    output_format: z.enum(["url", "hex"]).optional(),
    aigc_watermark: z.boolean().optional(),
  })
  .refine((body) => (body.voice_setting.voice_id ?? "") !== "" || (body.timbre_weights ?? []).length > 0, {
    path: ["timbre_weights"],
    error: "or voice_setting.voice_id must be given",
  })
  .refine(voiceModifyFits, voiceModifyRule);

/** The one million characters that the description of the operation states; the field rule says 50000. */
export const SPEECH_HD_MAX_CHARACTERS = 1_000_000;

/** Body of the asynchronous operation. `maxCharacters` is the bound in force (interface: 50000 or one million). */
export const submitSpeechRequest = (maxCharacters: number = SPEECH_HD_MAX_CHARACTERS) =>
  z
    .strictObject({
      text: speechText(maxCharacters),
      voice_setting: z.strictObject(voiceSettingFields),
      ...shared,
      language_boost: z.enum(LANGUAGES_HD).nullable().optional(),
    })
    .refine(voiceModifyFits, voiceModifyRule);

/** `audio` is hex, or a URL when output_format is `url`. */
export const speechAnswer = z.looseObject({ audio: requiredText });

/** One `data:` line of a stream: status 1 with audio, then status 2. */
export const speechChunk = z
  .unknown()
  .refine(isRecord, "must be an object")
  .pipe(z.looseObject({ audio: lenientText, status: lenientNumber }));
