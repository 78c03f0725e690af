import type { AudioFrom, VideoJob } from "../../../api/v1alpha1/video-job.ts";
import type { Kind } from "../../controller-deps.ts";
import type { ValueReader } from "../../references.ts";
import { InvalidJobError, type JobAdapter, type PaidRequest, type SendContext } from "../types.ts";
import { type Input, objectInput, resultInput } from "./input.ts";

export function videoJobAdapter(kind: Kind<VideoJob>): JobAdapter<VideoJob> {
  return {
    kind,
    prepare: (job, _account, reader) => videoRequest(job, reader),
    references: () => [],
    secrets: async () => [],
    typeOfBytes: () => undefined,
    extraStatus: (job) => ({ model: videoModelOf(job) }),
  };
}

/** Removes the texts of the request from the copy of a finished job: nothing sends it again. */
export function dropVideoTexts({ spec: { imageToVideo, videoToVideo } }: VideoJob): void {
  if (imageToVideo !== undefined) {
    imageToVideo.prompt = "";
    delete imageToVideo.negativePrompt;
  }
  if (videoToVideo !== undefined) videoToVideo.input = {};
}

/** `status.model`. */
export function videoModelOf(job: VideoJob): string {
  return job.spec.imageToVideo === undefined ? "vid2.6-v2v" : "vid-i2v";
}

/** Length of a video whose request names none (interface: "default video length 5 seconds"). */
const DEFAULT_SECONDS = 5;

type ImageToVideo = NonNullable<VideoJob["spec"]["imageToVideo"]>;
type VideoToVideo = NonNullable<VideoJob["spec"]["videoToVideo"]>;

/** What a VideoJob asks for, whatever its inputs are. */
export function videoWork({ spec }: VideoJob): Pick<PaidRequest, "operation" | "consumption"> {
  const { imageToVideo, videoToVideo } = spec;
  const quantity = videoToVideo?.parameters?.duration ?? DEFAULT_SECONDS;
  const operation = imageToVideo === undefined ? "submitVideoToVideo" : "submitImageToVideo";
  return { operation, consumption: { unit: "Seconds", quantity } };
}

/** The paid request of a VideoJob. @throws InvalidJobError | StalledError */
export async function videoRequest(job: VideoJob, reader: ValueReader): Promise<PaidRequest> {
  const { imageToVideo, videoToVideo } = job.spec;
  const work = videoWork(job);
  if (imageToVideo !== undefined) return { ...work, ...(await imageRequest(job, imageToVideo, reader)) };
  if (videoToVideo !== undefined) return { ...work, ...(await referenceRequest(job, videoToVideo, reader)) };
  throw new InvalidJobError("exactly one of imageToVideo and videoToVideo is required");
}

type Sendable = Pick<PaidRequest, "body" | "send">;

async function imageRequest(
  { metadata }: VideoJob,
  { imageFrom, ...image }: ImageToVideo,
  reader: ValueReader,
): Promise<Sendable> {
  const input = imageFrom && (await objectInput(reader, metadata.namespace, imageFrom.object));
  const body = input === undefined ? image : { ...image, imageFrom: input.identity };
  return {
    body,
    send: (sending) =>
      withURL(sending, input, ({ session }, url, options) =>
        session.video.imageToVideo(url === undefined ? image : { ...image, imageURL: url }, options),
      ),
  };
}

async function referenceRequest(job: VideoJob, video: VideoToVideo, reader: ValueReader): Promise<Sendable> {
  const { audioFrom, ...given } = video.input;
  const input = audioFrom && (await audioInput(reader, job, audioFrom));
  const requestOf = (change: object) => ({ ...video, input: { ...given, ...change } });
  return {
    body: requestOf(input === undefined ? {} : { audioFrom: input.identity }),
    send: (sending) =>
      withURL(sending, input, ({ session }, url, options) =>
        session.video.videoToVideo(requestOf(url === undefined ? {} : { audioURL: url }), options),
      ),
  };
}

async function audioInput(reader: ValueReader, job: VideoJob, { object, jobRef }: AudioFrom): Promise<Input> {
  if (object !== undefined) return objectInput(reader, job.metadata.namespace, object);
  if (jobRef !== undefined) return resultInput(reader, { ...job, kind: "VideoJob" }, jobRef);
  throw new InvalidJobError("audioFrom needs exactly one of object and jobRef");
}

/** Sends a request with the URL of its input, which is made now and which no message shows. */
async function withURL<T>(
  sending: SendContext,
  input: Input | undefined,
  send: (sending: SendContext, url: string | undefined, options: SendContext["options"]) => Promise<T>,
): Promise<T> {
  const url = await input?.url();
  return send(sending, url, url === undefined ? sending.options : { ...sending.options, hidden: [url] });
}
