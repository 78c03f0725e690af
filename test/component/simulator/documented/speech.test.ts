import { ABSENT } from "../requests.ts";
import {
  fields,
  inEach,
  letters,
  NO_BOOLEAN,
  NO_INTEGER,
  NO_LIST,
  NO_NUMBER,
  NO_OBJECT,
  NO_STRING,
  type Rule,
  ships,
  testRules,
} from "./rule.ts";

const PAUSES = {
  refused: [
    "a<#0#>b",
    "a<#0.00#>b",
    "a<#100#>b",
    "a<#99.999#>b",
    "a<#x#>b",
    "a<#-1#>b",
    "a<##>b",
    "a<#1#><#2#>b",
    "a<#1#> <#2#>b",
    "<#1#>b",
    "a<#1#>",
  ],
  accepted: ["a<#0.01#>b", "a<#99.99#>b", "a<#5#>b<#1.5#>c", "a\nb", "a <# b"],
};
const SHARED_LANGUAGES = [
  ...[
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
  ],
  ...[
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
  ],
  ...["Finnish", "Hindi", "auto"],
];
const SYNC_LANGUAGES = [
  ...[
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
  ],
  ...["Slovenian", "Catalan", "Nynorsk", "Tamil", "Afrikaans"],
];
const SPEECH_RULES: Rule[] = [
  ...inEach(
    [
      ["synthesizeSpeech", ""],
      ["submitSpeech", ""],
    ],
    [
      { field: "text", rule: "string, required", refused: [ABSENT, ...NO_STRING] },
      { field: "text", rule: "pauses", ...PAUSES },
      { field: "voice_setting", rule: "required", refused: [ABSENT, ...NO_OBJECT] },
      ...fields(
        ["speed", "vol", "pitch"].map((name) => `voice_setting.${name}`),
        { rule: "number", refused: NO_NUMBER, accepted: [0.5, -5, ABSENT] },
      ),
      ...fields(
        ["voice_id", "emotion"].map((name) => `voice_setting.${name}`),
        { rule: "string", refused: NO_STRING, accepted: [ABSENT] },
      ),
      { field: "voice_setting.text_normalization", rule: "boolean", refused: NO_BOOLEAN, accepted: [false, ABSENT] },
      ...fields(["audio_setting", "pronunciation_dict", "voice_modify"], {
        rule: "optional object",
        refused: NO_OBJECT,
        accepted: [{}, ABSENT],
      }),
      ...fields(
        ["sample_rate", "bitrate", "channel"].map((name) => `audio_setting.${name}`),
        { rule: "integer", refused: NO_INTEGER, accepted: [1, ABSENT] },
      ),
      {
        field: "audio_setting.format",
        rule: "known format",
        refused: ["ogg", "MP3", 1],
        accepted: ["mp3", "flac", "wav", ABSENT],
      },
      { field: "audio_setting.format", rule: "voice_modify excludes pcm", refused: ["pcm"] },
      { field: "audio_setting.format", rule: "pcm", refused: [], accepted: ["pcm"], given: { voice_modify: ABSENT } },
      {
        field: "pronunciation_dict.tone",
        rule: "array of objects",
        refused: [...NO_LIST, ["x"], [null]],
        accepted: [[], [{}], ABSENT],
      },
      {
        field: "language_boost",
        rule: "a language",
        refused: ["Klingon", "english", 1],
        accepted: [...SHARED_LANGUAGES, null, ABSENT],
      },
      ...fields(
        ["pitch", "intensity", "timbre"].map((name) => `voice_modify.${name}`),
        { rule: "integer", refused: NO_INTEGER, accepted: [-5, ABSENT] },
      ),
      { field: "voice_modify.sound_effects", rule: "string", refused: NO_STRING, accepted: [ABSENT] },
      ...fields(
        ["extra", "voice_setting.extra", "audio_setting.extra", "pronunciation_dict.extra", "voice_modify.extra"],
        {
          rule: "not a field",
          refused: [1],
        },
      ),
    ],
  ),
  ...inEach(
    [["synthesizeSpeech", ""]],
    [
      {
        field: "text",
        rule: "shorter than 10000 characters",
        refused: [letters(10_000), ships(10_000)],
        accepted: [letters(9999), ships(9999)],
      },
      { field: "voice_setting.latex_read", rule: "boolean", refused: NO_BOOLEAN, accepted: [false, ABSENT] },
      {
        field: "voice_setting.voice_id",
        rule: "this or timbre_weights",
        refused: [ABSENT],
        given: { timbre_weights: ABSENT },
      },
      {
        field: "timbre_weights",
        rule: "this or voice_id",
        refused: [...NO_LIST, ["x"]],
        accepted: [[{ voice_id: "v", weight: 1.5 }]],
        given: { "voice_setting.voice_id": ABSENT },
      },
      { field: "timbre_weights.0.voice_id", rule: "string", refused: [ABSENT, ...NO_STRING] },
      { field: "timbre_weights.0.weight", rule: "number", refused: NO_NUMBER, accepted: [0.5] },
      { field: "stream", rule: "boolean", refused: NO_BOOLEAN, accepted: [false, ABSENT] },
      { field: "stream_options", rule: "optional object", refused: NO_OBJECT, accepted: [{}, ABSENT] },
      {
        field: "stream_options.exclude_aggregated_audio",
        rule: "boolean",
        refused: NO_BOOLEAN,
        accepted: [false, ABSENT],
      },
      {
        field: "language_boost",
        rule: "languages of the synchronous operation",
        refused: [],
        accepted: SYNC_LANGUAGES,
      },
      { field: "output_format", rule: "url or hex", refused: ["file", "", null, 1], accepted: ["url", "hex", ABSENT] },
      { field: "aigc_watermark", rule: "boolean", refused: NO_BOOLEAN, accepted: [false, ABSENT] },
      {
        field: "audio_setting.format",
        rule: "voice_modify needs mp3 in a stream",
        refused: ["wav", "flac", "pcm"],
        accepted: ["mp3", ABSENT],
        given: { stream: true },
      },
      {
        field: "audio_setting.format",
        rule: "any format in a stream",
        refused: [],
        accepted: ["wav", "flac", "pcm"],
        given: { stream: true, voice_modify: ABSENT },
      },
    ],
  ),
  ...inEach(
    [["submitSpeech", ""]],
    [
      {
        field: "text",
        rule: "at most 50000 characters",
        refused: [letters(50_001)],
        accepted: [letters(50_000), ships(50_000)],
      },
      { field: "language_boost", rule: "languages up to Hindi", refused: SYNC_LANGUAGES },
      ...fields(
        ["voice_setting.latex_read", "timbre_weights", "stream", "stream_options", "output_format", "aigc_watermark"],
        {
          rule: "not a field",
          refused: [true],
        },
      ),
    ],
  ),
  ...inEach(
    [["synthesizeSpeech", ""]],
    [
      {
        field: "timbre_weights.0.weight",
        rule: "not shown whether required",
        refused: [],
        accepted: [ABSENT],
      },
      {
        field: "timbre_weights.0.voice_id",
        rule: "not shown whether it may be empty",
        refused: [],
        accepted: [""],
      },
      {
        field: "text",
        rule: "not shown whether a pause may have leading zeros",
        refused: [],
        accepted: ["a<#005#>b"],
      },
    ],
  ),
];

testRules(SPEECH_RULES);
