import type { KindForm } from "./kind-form.ts";

export const videoJobForm: KindForm = {
  kind: "VideoJob",
  title: "Make a video",
  first: [
    "imageToVideo.prompt",
    "imageToVideo.imageURL",
    "imageToVideo.width",
    "imageToVideo.height",
    "imageToVideo.seed",
    "videoToVideo.input.prompt",
    "videoToVideo.input.referenceURLs",
    "videoToVideo.parameters.duration",
    "videoToVideo.parameters.size",
    "output.storeRef.name",
  ],
  oneOf: ["imageToVideo", "videoToVideo"],
  initial: {},
  effect: "The job sends one paid request.",
};
