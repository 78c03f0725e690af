import { type Refusal, refusalsOf } from "./refusal.ts";

const hd = refusalsOf("hd");
const turbo = refusalsOf("turbo");
const output = { storeRef: { name: "store" } };
const fromSecret = { secretKeyRef: { name: "tokens", key: "hub" } };
const fromConfigMap = { configMapKeyRef: { name: "settings", key: "model" } };
const malformed =
  "text has a malformed pause marker: write <#x#> with x in seconds from 0.01 to 99.99, at most two decimals";
const oneVoice = "exactly one of voiceSetting.voiceID and timbreWeights is required: set one, remove the other";
const oneText = "exactly one of text and textFrom is required: set one, remove the other";
const mix = { voiceSetting: { voiceID: null }, timbreWeights: [{ voiceID: "a", weight: 1 }] };
const turboOnly = (field: string) => `${field} is for model speech-2.6-turbo only: remove it, or change the model`;

export const speechRefusals: readonly Refusal[] = [
  turbo(
    { text: "字".repeat(10_000) },
    { text: "字".repeat(9_999) },
    "text must be shorter than 10000 characters with model speech-2.6-turbo: shorten it, or use speech-2.6-hd",
  ),
  hd(
    { text: "a".repeat(1_000_001) },
    { text: "a".repeat(50_000) },
    "spec.text: Too long: may not be more than 1000000",
  ),
  hd({ text: null }, { text: null, textFrom: fromConfigMap }, oneText),
  turbo({ textFrom: fromSecret }, { text: null, textFrom: fromSecret }, oneText),
  hd(
    { text: null, textFrom: { ...fromSecret, ...fromConfigMap } },
    { text: null, textFrom: fromSecret },
    "textFrom needs exactly one of secretKeyRef, configMapKeyRef and object: set one, remove the others",
  ),
  hd(
    { text: null, textFrom: { object: { storeRef: { name: "texts" }, key: "../a.txt" } } },
    { text: null, textFrom: { object: { storeRef: { name: "texts" }, key: "book/a.txt" } } },
    "textFrom.object.key must be a relative path without '..'",
  ),
  ...["<#0#>", "<#0.00#>", "<#100#>", "<#1.234#>", "<#one#>", "<# 1 #>", "<#1>", "<##>", "<#-1#>", "<<#x#>"].map(
    (marker) => hd({ text: `a${marker}b` }, { text: "a<#0.01#>b<#99.99#>c<#0.1#>d<<#7#>e < f" }, malformed),
  ),
  turbo({ text: "a<#1.555#>b" }, { text: "a<#1.55#>b" }, malformed),
  hd(
    { text: "a<#1#><#2#>b" },
    { text: "a<#1#>b<#2#>c" },
    "text has two pause markers in a row: put words between them, or add them up into one",
  ),
  turbo(
    { text: "a<#1#> \n <#2#>b" },
    { text: "a<#1#> b <#2#>c" },
    "text has two pause markers in a row: put words between them, or add them up into one",
  ),
  ...["<#1#>a", " \n<#1#>a", "a<#1#>", "a<#1#>\n"].map((text) =>
    hd(
      { text },
      { text: "\na<#1#>b\n" },
      "text has a pause marker first or last: a pause stands between words, remove it or put words on both sides",
    ),
  ),
  turbo(
    { outputFormat: "hex" },
    { outputFormat: "hex", output },
    "outputFormat hex needs output, the only place for the bytes: set output.storeRef, or use outputFormat url",
  ),
  turbo(
    { stream: true },
    { stream: true, output },
    "stream needs output, the only place for the bytes: set output.storeRef, or remove stream",
  ),
  turbo(
    { stream: true, outputFormat: "url", output },
    { stream: true, outputFormat: "hex", output },
    "outputFormat url cannot be used with stream, which returns hex only: remove outputFormat or stream",
  ),
  turbo(
    { streamOptions: { excludeAggregatedAudio: true } },
    { streamOptions: { excludeAggregatedAudio: true }, stream: true, output },
    "streamOptions needs stream: true; set it, or remove streamOptions",
  ),
  turbo(
    { aigcWatermark: true, stream: true, output },
    { aigcWatermark: true },
    "aigcWatermark has no effect with stream: remove aigcWatermark or stream",
  ),
  hd({ stream: true, output }, { stream: false, output }, turboOnly("stream")),
  hd({ streamOptions: {} }, {}, turboOnly("streamOptions")),
  hd(mix, {}, turboOnly("timbreWeights")),
  hd({ outputFormat: "url" }, {}, turboOnly("outputFormat")),
  hd({ aigcWatermark: true }, { aigcWatermark: false }, turboOnly("aigcWatermark")),
  hd(
    { voiceSetting: { latexRead: true } },
    { voiceSetting: { textNormalization: true } },
    turboOnly("voiceSetting.latexRead"),
  ),
  turbo({ voiceSetting: { voiceID: null } }, mix, oneVoice),
  turbo({ timbreWeights: [{ voiceID: "a", weight: 1 }] }, mix, oneVoice),
  hd(
    { languageBoost: "Danish" },
    { languageBoost: "Chinese,Yue" },
    "languageBoost must be auto or one of Chinese to Hindi with model speech-2.6-hd: choose one of these, or use speech-2.6-turbo",
  ),
  turbo(
    { languageBoost: "Klingon" },
    { languageBoost: "Danish" },
    'spec.languageBoost: Unsupported value: "Klingon": supported values: "auto", "Chinese"',
  ),
  hd(
    { voiceModify: { pitch: 1 }, audioSetting: { format: "pcm" } },
    { voiceModify: { pitch: 1 }, audioSetting: { format: "flac" } },
    "voiceModify cannot be used with audioSetting.format pcm: use mp3, wav or flac, or remove voiceModify",
  ),
  turbo(
    { voiceModify: { pitch: 1 }, audioSetting: { format: "wav" }, stream: true, output },
    { voiceModify: { pitch: 1 }, audioSetting: { format: "mp3" }, stream: true, output },
    "voiceModify with stream needs audioSetting.format mp3: change the format, or remove voiceModify or stream",
  ),
  hd(
    { audioSetting: { format: "ogg" } },
    { audioSetting: { format: "wav" } },
    'spec.audioSetting.format: Unsupported value: "ogg": supported values: "mp3", "pcm", "flac", "wav"',
  ),
  hd(
    { model: "speech-3" },
    {},
    'spec.model: Unsupported value: "speech-3": supported values: "speech-2.6-turbo", "speech-2.6-hd"',
  ),
  hd(
    { output: { ...output, prefix: "a/../../b" } },
    { output: { ...output, prefix: "a..b/c" } },
    "output.prefix must be a relative path without '..'",
  ),
  hd(
    { output: { ...output, prefix: "/a" } },
    { output: { ...output, prefix: "a" } },
    "output.prefix must be a relative path without '..'",
  ),
  hd(
    { managedBy: "queue" },
    { managedBy: "example.com/queue" },
    "managedBy must be a domain and a path, at most 63 characters, such as example.com/queue",
  ),
  hd({ backoffLimit: -1 }, { backoffLimit: 0 }, "spec.backoffLimit in body should be greater than or equal to 0"),
  hd(
    { activeDeadlineSeconds: 0 },
    { activeDeadlineSeconds: 1 },
    "spec.activeDeadlineSeconds in body should be greater than or equal to 1",
  ),
  hd(
    { onSubmissionUnknown: "Retry" },
    { onSubmissionUnknown: "Resubmit" },
    'spec.onSubmissionUnknown: Unsupported value: "Retry": supported values: "Halt", "Resubmit"',
  ),
];
