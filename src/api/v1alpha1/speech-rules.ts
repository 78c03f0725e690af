import { celList, celString } from "../schema/fields.ts";
import type { SpecRule } from "../schema/rule.ts";
import { turboLanguages } from "./speech-languages.ts";
import { CEL_MARKER_LIMIT, characters, markerRules, TURBO_TEXT_LIMIT } from "./speech-text.ts";

/** The part of a SpeechJob's spec that the rules look at. */
type SpeechFields = {
  model: "speech-2.6-turbo" | "speech-2.6-hd";
  text?: string | undefined;
  textFrom?: object | undefined;
  voiceSetting: { voiceID?: string | undefined; latexRead?: boolean | undefined };
  audioSetting?: { format?: string | undefined } | undefined;
  timbreWeights?: readonly object[] | undefined;
  stream?: boolean | undefined;
  streamOptions?: object | undefined;
  languageBoost?: string | undefined;
  outputFormat?: string | undefined;
  voiceModify?: object | undefined;
  aigcWatermark?: boolean | undefined;
  output?: object | undefined;
};

const HD = "self.model == 'speech-2.6-hd'";
const NOT_LOOKED_AT = `!has(self.text) || size(self.text) > ${CEL_MARKER_LIMIT}`;
const streaming = "(has(self.stream) && self.stream)";
const isTurbo = (spec: SpeechFields) => spec.model === "speech-2.6-turbo";
const turboOnly: readonly string[] = turboLanguages;

/** A field that speech-2.6-hd does not have. A flag that is false asks for nothing and is let through. */
function onlyTurbo(field: string, used: string, isUsed: (spec: SpeechFields) => boolean): SpecRule<SpeechFields> {
  return {
    cel: `${HD} ? !(${used}) : true`,
    message: `${field} is for model speech-2.6-turbo only: remove it, or change the model`,
    fieldPath: `.${field}`,
    holds: (spec) => isTurbo(spec) || !isUsed(spec),
  };
}

/** What the interface says of the speech operations, and where bytes can go (interface: Speech synthesis). */
export const speechRules: readonly SpecRule<SpeechFields>[] = [
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
