import type { SpeechJob } from "../../api/speech-job.ts";
import type { JobAdapter } from "../jobs/types.ts";
import type { Kind } from "../shared.ts";
import { speechRequest } from "./request.ts";

export function speechJobAdapter(kind: Kind<SpeechJob>): JobAdapter<SpeechJob> {
  return { kind, prepare: speechRequest, extraStatus: () => ({}) };
}
