import type { SpeechJob } from "../../api/v1alpha1/speech-job.ts";
import type { VideoJob } from "../../api/v1alpha1/video-job.ts";
import type { Job } from "./types.ts";

/*
 * Finished jobs stay in the cluster, often by the thousand, and nothing sends their request again. The informers' copies of
 * them do without the text of the request. A job that has not finished keeps everything.
 */

export function trimSpeechJob(job: SpeechJob): void {
  if (!hasFinished(job)) return;
  delete job.spec.text;
  delete job.spec.pronunciationDict;
}

export function trimVideoJob(job: VideoJob): void {
  if (!hasFinished(job)) return;
  const { imageToVideo, videoToVideo } = job.spec;
  if (imageToVideo !== undefined) {
    imageToVideo.prompt = "";
    delete imageToVideo.negativePrompt;
  }
  if (videoToVideo !== undefined) videoToVideo.input = {};
}

function hasFinished({ status }: Job): boolean {
  return status?.phase === "Succeeded" || status?.phase === "Failed";
}
