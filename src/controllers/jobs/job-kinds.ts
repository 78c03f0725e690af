import type { SpeechJob } from "../../api/v1alpha1/speech-job.ts";
import type { VideoJob } from "../../api/v1alpha1/video-job.ts";
import type { Operation } from "../../provider/operations.ts";
import type { AccountSession } from "../../provider/types.ts";

/** A job of any kind. A new kind of job is added to this file, and to no other file of this folder. */
export type Job = SpeechJob | VideoJob;

/** The part of the remote service that paid requests use. */
export type PaidServices = Pick<AccountSession, "speech" | "video">;

/** The operation that a job pays for. Objects of a list have no `kind`, so the spec decides. */
export function paidOperation({ spec }: Job): Operation {
  if ("imageToVideo" in spec && spec.imageToVideo !== undefined) return "submitImageToVideo";
  if (!("model" in spec)) return "submitVideoToVideo";
  if (spec.model === "speech-2.6-hd") return "submitSpeech";
  return spec.stream ? "streamSpeech" : "synthesizeSpeech";
}
