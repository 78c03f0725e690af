import { defined, type JobKindForm, optional, optionalNumber } from "./form.ts";

export const speechJobForm: JobKindForm = {
  kind: "SpeechJob",
  initial: { model: "speech-2.6-turbo" },
  fields: [
    {
      name: "model",
      label: "Model",
      help: "turbo: short text, at once. hd: long text, as a task.",
      input: { kind: "Choice", choices: ["speech-2.6-turbo", "speech-2.6-hd"] },
    },
    { name: "text", label: "Text", input: { kind: "Lines" }, required: true },
    { name: "voiceID", label: "Voice", required: true },
    { name: "speed", label: "Speed", input: { kind: "Number", step: "0.1" } },
    { name: "format", label: "Audio format", input: { kind: "Choice", choices: ["", "mp3", "wav", "flac", "pcm"] } },
  ],
  spec: ({ model = "", text = "", voiceID = "", speed = "", format = "" }) => ({
    model,
    text,
    voiceSetting: defined({ voiceID: optional(voiceID), speed: optionalNumber(speed) }),
    audioSetting: format === "" ? undefined : { format },
  }),
};
