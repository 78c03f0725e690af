import * as z from "zod";
import { inRange, text } from "./fields.ts";

/** Bodies of both speech operations (interface: Speech synthesis). */

const ASYNC_LANGUAGES = [
  ...["Chinese", "Chinese,Yue", "English", "Arabic", "Russian", "Spanish", "French", "Portuguese", "German", "Turkish"],
  ...["Dutch", "Ukrainian", "Vietnamese", "Indonesian", "Japanese", "Italian", "Korean", "Thai", "Polish", "Romanian"],
  ...["Greek", "Czech", "Finnish", "Hindi", "auto"],
];
const SYNC_LANGUAGES = [
  ...ASYNC_LANGUAGES,
  ...["Bulgarian", "Danish", "Hebrew", "Malay", "Persian", "Slovak", "Swedish", "Croatian", "Filipino", "Hungarian"],
  ...["Norwegian", "Slovenian", "Catalan", "Nynorsk", "Tamil", "Afrikaans"],
];

/**
 * Returns why the pauses of a text break the rules. Interface: `<#x#>` between two speakable texts, x in seconds from
 * 0.01 to 99.99 with at most two decimals, never two in a row. Assumption: white space is not speakable.
 */
function pauseProblem(value: string): string | undefined {
  // Texts have even indexes, the seconds of the pauses between them odd ones.
  const parts = value.split(/<#([^<#>]*)#>/);
  if (parts.length === 1) return undefined;
  for (const [index, part] of parts.entries()) {
    const isPause = index % 2 === 1;
    if (isPause && !(/^\d+(\.\d{1,2})?$/.test(part) && inRange(Number(part), 0.01, 99.99))) {
      return `pause <#${part}#> must be 0.01 to 99.99 seconds with at most two decimals`;
    }
    if (!isPause && part.trim() === "")
      return "a pause must be between two texts, and two pauses must not follow each other";
  }
  return undefined;
}

/** Assumption: a text is not empty, and the rules of pauses apply to both operations. */
const speechText = (maxCharacters: number) =>
  text(1, maxCharacters).superRefine((value, context) => {
    const message = pauseProblem(value);
    if (message !== undefined) context.addIssue({ code: "custom", message });
  });

const voiceSetting = {
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
      // Assumption: both operations know the formats that the interface mentions for the synchronous one.
      format: z.enum(["mp3", "pcm", "flac", "wav"]).optional(),
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

type VoiceModifyUse = {
  voice_modify?: object | undefined;
  stream?: boolean | undefined;
  audio_setting?: { format?: string | undefined } | undefined;
};

/** Interface: voice_modify works with mp3, wav and flac, and with mp3 in a stream. The default format is not shown. */
function fitsVoiceModify({ voice_modify, stream, audio_setting }: VoiceModifyUse): boolean {
  if (voice_modify === undefined || audio_setting?.format === undefined) return true;
  return (stream === true ? ["mp3"] : ["mp3", "wav", "flac"]).includes(audio_setting.format);
}
const voiceModifyRule = { path: ["voice_modify"], error: "works with mp3, wav and flac, and with mp3 in a stream" };

/** Body of the synchronous operation. Interface: the text is shorter than 10000 characters. */
export const synthesizeSpeechBody = z
  .strictObject({
    ...shared,
    text: speechText(9999),
    voice_setting: z.strictObject({ ...voiceSetting, latex_read: z.boolean().optional() }),
    timbre_weights: z.array(z.strictObject({ voice_id: z.string(), weight: z.number().optional() })).optional(),
    stream: z.boolean().optional(),
    stream_options: z.strictObject({ exclude_aggregated_audio: z.boolean().optional() }).optional(),
    language_boost: z.enum(SYNC_LANGUAGES).nullable().optional(),
    output_format: z.enum(["url", "hex"]).optional(),
    aigc_watermark: z.boolean().optional(),
  })
  .refine(({ voice_setting, timbre_weights }) => Boolean(voice_setting.voice_id) || Boolean(timbre_weights?.length), {
    path: ["timbre_weights"],
    error: "or voice_setting.voice_id is required",
  })
  .refine(fitsVoiceModify, voiceModifyRule);

/** Body of the asynchronous operation. The interface states two limits of the text; the caller passes one. */
export const submitSpeechBody = (maxCharacters: number) =>
  z
    .strictObject({
      ...shared,
      text: speechText(maxCharacters),
      voice_setting: z.strictObject(voiceSetting),
      language_boost: z.enum(ASYNC_LANGUAGES).nullable().optional(),
    })
    .refine(fitsVoiceModify, voiceModifyRule);
