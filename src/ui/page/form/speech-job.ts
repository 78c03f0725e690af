import type { KindForm } from "./kind-form.ts";

export const speechJobForm: KindForm = {
  kind: "SpeechJob",
  title: "Speak a text",
  first: ["model", "text", "voiceSetting.voiceID", "voiceSetting.speed", "audioSetting.format", "output.storeRef.name"],
  initial: { model: "speech-2.6-turbo" },
  effect: "The job sends one paid request.",
};
