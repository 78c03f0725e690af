import { type Refusal, refusal } from "./refusal.ts";

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
  refusal(
    "10,000 characters for turbo",
    "turbo",
    { text: "字".repeat(10_000) },
    { text: "字".repeat(9_999) },
    "text must be shorter than 10000 characters with model speech-2.6-turbo: shorten it, or use speech-2.6-hd",
  ),
  refusal(
    "more than a million characters",
    "hd",
    { text: "a".repeat(1_000_001) },
    { text: "a".repeat(50_000) },
    "spec.text: Too long: may not be more than 1000000",
  ),
  refusal("neither text nor textFrom", "hd", { text: null }, { text: null, textFrom: fromConfigMap }, oneText),
  refusal("both text and textFrom", "turbo", { textFrom: fromSecret }, { text: null, textFrom: fromSecret }, oneText),
  refusal(
    "textFrom with both sources",
    "hd",
    { text: null, textFrom: { ...fromSecret, ...fromConfigMap } },
    { text: null, textFrom: fromSecret },
    "textFrom needs exactly one of secretKeyRef and configMapKeyRef: set one, remove the other",
  ),
  ...["<#0#>", "<#0.00#>", "<#100#>", "<#1.234#>", "<#one#>", "<# 1 #>", "<#1>", "<##>", "<#-1#>", "<<#x#>"].map(
    (marker) =>
      refusal(
        `the pause marker ${marker}`,
        "hd",
        { text: `a${marker}b` },
        { text: "a<#0.01#>b<#99.99#>c<#0.1#>d<<#7#>e < f" },
        malformed,
      ),
  ),
  refusal("a malformed marker in turbo", "turbo", { text: "a<#1.555#>b" }, { text: "a<#1.55#>b" }, malformed),
  refusal(
    "two pause markers in a row",
    "hd",
    { text: "a<#1#><#2#>b" },
    { text: "a<#1#>b<#2#>c" },
    "text has two pause markers in a row: put words between them, or add them up into one",
  ),
  refusal(
    "two pause markers with only white space between",
    "turbo",
    { text: "a<#1#> \n <#2#>b" },
    { text: "a<#1#> b <#2#>c" },
    "text has two pause markers in a row: put words between them, or add them up into one",
  ),
  ...["<#1#>a", " \n<#1#>a", "a<#1#>", "a<#1#>\n"].map((text) =>
    refusal(
      `the text ${JSON.stringify(text)}`,
      "hd",
      { text },
      { text: "\na<#1#>b\n" },
      "text has a pause marker first or last: a pause stands between words, remove it or put words on both sides",
    ),
  ),
  refusal(
    "hex without output",
    "turbo",
    { outputFormat: "hex" },
    { outputFormat: "hex", output },
    "outputFormat hex needs output, the only place for the bytes: set output.storeRef, or use outputFormat url",
  ),
  refusal(
    "stream without output",
    "turbo",
    { stream: true },
    { stream: true, output },
    "stream needs output, the only place for the bytes: set output.storeRef, or remove stream",
  ),
  refusal(
    "url with stream",
    "turbo",
    { stream: true, outputFormat: "url", output },
    { stream: true, outputFormat: "hex", output },
    "outputFormat url cannot be used with stream, which returns hex only: remove outputFormat or stream",
  ),
  refusal(
    "streamOptions without stream",
    "turbo",
    { streamOptions: { excludeAggregatedAudio: true } },
    { streamOptions: { excludeAggregatedAudio: true }, stream: true, output },
    "streamOptions needs stream: true; set it, or remove streamOptions",
  ),
  refusal(
    "aigcWatermark with stream",
    "turbo",
    { aigcWatermark: true, stream: true, output },
    { aigcWatermark: true },
    "aigcWatermark has no effect with stream: remove aigcWatermark or stream",
  ),
  refusal("stream on hd", "hd", { stream: true, output }, { stream: false, output }, turboOnly("stream")),
  refusal("streamOptions on hd", "hd", { streamOptions: {} }, {}, turboOnly("streamOptions")),
  refusal("timbreWeights on hd", "hd", mix, {}, turboOnly("timbreWeights")),
  refusal("outputFormat on hd", "hd", { outputFormat: "url" }, {}, turboOnly("outputFormat")),
  refusal("aigcWatermark on hd", "hd", { aigcWatermark: true }, { aigcWatermark: false }, turboOnly("aigcWatermark")),
  refusal(
    "latexRead on hd",
    "hd",
    { voiceSetting: { latexRead: true } },
    { voiceSetting: { textNormalization: true } },
    turboOnly("voiceSetting.latexRead"),
  ),
  refusal("neither voiceID nor timbreWeights", "turbo", { voiceSetting: { voiceID: null } }, mix, oneVoice),
  refusal("both voiceID and timbreWeights", "turbo", { timbreWeights: [{ voiceID: "a", weight: 1 }] }, mix, oneVoice),
  refusal(
    "a language of turbo on hd",
    "hd",
    { languageBoost: "Danish" },
    { languageBoost: "Chinese,Yue" },
    "languageBoost must be auto or one of Chinese to Hindi with model speech-2.6-hd: choose one of these, or use speech-2.6-turbo",
  ),
  refusal(
    "a language that is not known",
    "turbo",
    { languageBoost: "Klingon" },
    { languageBoost: "Danish" },
    'spec.languageBoost: Unsupported value: "Klingon": supported values: "auto", "Chinese"',
  ),
  refusal(
    "voiceModify with pcm",
    "hd",
    { voiceModify: { pitch: 1 }, audioSetting: { format: "pcm" } },
    { voiceModify: { pitch: 1 }, audioSetting: { format: "flac" } },
    "voiceModify cannot be used with audioSetting.format pcm: use mp3, wav or flac, or remove voiceModify",
  ),
  refusal(
    "voiceModify with wav when streaming",
    "turbo",
    { voiceModify: { pitch: 1 }, audioSetting: { format: "wav" }, stream: true, output },
    { voiceModify: { pitch: 1 }, audioSetting: { format: "mp3" }, stream: true, output },
    "voiceModify with stream needs audioSetting.format mp3: change the format, or remove voiceModify or stream",
  ),
  refusal(
    "a format that is not known",
    "hd",
    { audioSetting: { format: "ogg" } },
    { audioSetting: { format: "wav" } },
    'spec.audioSetting.format: Unsupported value: "ogg": supported values: "mp3", "pcm", "flac", "wav"',
  ),
  refusal(
    "a model that is not known",
    "hd",
    { model: "speech-3" },
    {},
    'spec.model: Unsupported value: "speech-3": supported values: "speech-2.6-turbo", "speech-2.6-hd"',
  ),
  refusal(
    "an output prefix that leaves the store",
    "hd",
    { output: { ...output, prefix: "a/../../b" } },
    { output: { ...output, prefix: "a..b/c" } },
    "output.prefix must be a relative path without '..'",
  ),
  refusal(
    "an absolute output prefix",
    "hd",
    { output: { ...output, prefix: "/a" } },
    { output: { ...output, prefix: "a" } },
    "output.prefix must be a relative path without '..'",
  ),
  refusal(
    "a managedBy without a domain",
    "hd",
    { managedBy: "queue" },
    { managedBy: "example.com/queue" },
    "managedBy must be a domain and a path, at most 63 characters, such as example.com/queue",
  ),
  refusal(
    "a negative backoffLimit",
    "hd",
    { backoffLimit: -1 },
    { backoffLimit: 0 },
    "spec.backoffLimit in body should be greater than or equal to 0",
  ),
  refusal(
    "a deadline of 0 seconds",
    "hd",
    { activeDeadlineSeconds: 0 },
    { activeDeadlineSeconds: 1 },
    "spec.activeDeadlineSeconds in body should be greater than or equal to 1",
  ),
  refusal(
    "an onSubmissionUnknown that is not known",
    "hd",
    { onSubmissionUnknown: "Retry" },
    { onSubmissionUnknown: "Resubmit" },
    'spec.onSubmissionUnknown: Unsupported value: "Retry": supported values: "Halt", "Resubmit"',
  ),
];
