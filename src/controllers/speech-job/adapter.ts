import type { SpeechJob } from "../../api/v1alpha1/speech-job.ts";
import type { JobAdapter } from "../jobs/types.ts";
import type { Kind } from "../shared.ts";
import { audioTypeOf, speechRequest } from "./request.ts";

export function speechJobAdapter(kind: Kind<SpeechJob>): JobAdapter<SpeechJob> {
  return {
    kind,
    prepare: speechRequest,
    typeOfBytes: ({ spec }) => (spec.stream || spec.outputFormat === "hex" ? audioTypeOf(spec) : undefined),
    extraStatus: () => ({}),
  };
}
