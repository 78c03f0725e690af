import { defined, type FormValues, type JobKindForm, optional, optionalNumber } from "./form.ts";

const isImage = ({ source }: FormValues) => source === "image";
const isReference = ({ source }: FormValues) => source === "reference videos";

export const videoJobForm: JobKindForm = {
  kind: "VideoJob",
  initial: { source: "image" },
  fields: [
    { name: "source", label: "Made from", input: { kind: "Choice", choices: ["image", "reference videos"] } },
    { name: "prompt", label: "Prompt", input: { kind: "Lines" }, required: true },
    { name: "imageURL", label: "URL of the image", required: true, when: isImage },
    {
      name: "imageSize",
      label: "Size in pixels",
      input: { kind: "Choice", choices: ["", "832x480", "480x832", "1280x720", "720x1280"] },
      when: isImage,
    },
    {
      name: "referenceURLs",
      label: "URLs of the reference videos",
      help: "One on each line.",
      input: { kind: "Lines" },
      required: true,
      when: isReference,
    },
    { name: "duration", label: "Seconds", input: { kind: "Choice", choices: ["", "5", "10"] }, when: isReference },
    { name: "seed", label: "Seed", input: { kind: "Number", step: "1" } },
  ],
  spec: (values) => (isImage(values) ? fromImage(values) : fromReferences(values)),
};

function fromImage({ prompt = "", imageURL = "", imageSize = "", seed = "" }: FormValues) {
  const [width, height] = imageSize === "" ? [] : imageSize.split("x").map(Number);
  return { imageToVideo: defined({ prompt, imageURL, width, height, seed: optionalNumber(seed) }) };
}

function fromReferences({ prompt = "", referenceURLs = "", seed = "", duration = "" }: FormValues) {
  const urls = referenceURLs.split("\n").flatMap((line) => optional(line.trim()) ?? []);
  const parameters = defined({ seed: optionalNumber(seed), duration: optionalNumber(duration) });
  const given = Object.keys(parameters).length > 0;
  const input = { prompt, referenceURLs: urls };
  return { videoToVideo: defined({ input, parameters: given ? parameters : undefined }) };
}
