import type { KindForm } from "./kind-form.ts";

export const mediaBatchForm: KindForm = {
  kind: "MediaBatch",
  title: "Make many results",
  first: [
    "items.inline",
    "template.speech.model",
    "template.speech.voiceSetting.voiceID",
    "output.storeRef.name",
    "output.keyPrefix",
    "parallelism",
    "reuse",
  ],
  initial: { template: { speech: { model: "speech-2.6-turbo" } } },
  effect: "Mooring checks all items. Then each item sends one paid request.",
};
