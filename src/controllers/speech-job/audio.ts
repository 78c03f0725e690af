import type { JobResult } from "../../api/v1alpha1/job.ts";
import type { ArtifactWriter } from "../../artifacts/types.ts";
import type { SynthesizeSpeechBody } from "../../provider/client.ts";
import { ServiceError } from "../../provider/errors.ts";
import { jobResults } from "../jobs/results.ts";
import type { Accepted, Sending } from "../jobs/types.ts";

type Body = Omit<SynthesizeSpeechBody, "stream">;

/**
 * One synthesis in one body: a URL is the result itself, bytes go into the store. Which of the two came is told from the
 * answer. The store is opened before anything is sent, so that a store which takes nothing costs nothing.
 */
export async function synthesize(body: Body, type: string, sending: Sending): Promise<Accepted> {
  const { client, clock } = sending;
  return stored(
    body.output_format === "hex" ? sending : { ...sending, openArtifact: undefined },
    type,
    async (options, write) => {
      const { audio } = await client.synthesizeSpeech(body, options);
      if (/^https?:\/\//i.test(audio))
        return { results: jobResults([{ kind: "Audio", url: audio, type }], clock.now()) };
      if (write === undefined || audio.length % 2 !== 0 || !/^[0-9a-f]*$/i.test(audio)) {
        throw new ServiceError({
          operation: "synthesizeSpeech",
          kind: "UnreadableResponse",
          delivery: "Unknown",
          message: `the answer's audio is ${write === undefined ? "not a URL" : "neither hex nor a URL"}`,
        });
      }
      await write(Buffer.from(audio, "hex"));
      return undefined;
    },
  );
}

/**
 * One synthesis as a stream of chunks, each written to the store as it comes. Only the service's own end (status 2) is a good
 * one; after anything else nothing stays in the store.
 */
export async function stream(body: Body, type: string, sending: Sending): Promise<Accepted> {
  const { client, clock, onFirstAudio } = sending;
  let firstAudioMs: number | undefined;
  let bytes = 0;
  const accepted = await stored(sending, type, async (options, write) => {
    let sentAt = clock.monotonic();
    const beforeSend = async () => {
      await options.beforeSend?.();
      sentAt = clock.monotonic();
    };
    for await (const { audio } of client.streamSpeech(body, { ...options, beforeSend })) {
      if (firstAudioMs === undefined) {
        firstAudioMs = Math.round(clock.monotonic() - sentAt);
        onFirstAudio(firstAudioMs);
      }
      bytes += audio.length;
      await write?.(audio);
    }
    return bytes === 0 ? { results: [] } : undefined;
  });
  return { ...accepted, ...(firstAudioMs === undefined ? {} : { firstAudioMs }) };
}

type Write = (chunk: Uint8Array) => Promise<void>;
type Work = (options: Sending["options"], write: Write | undefined) => Promise<{ results: JobResult[] } | undefined>;

/** Runs `work` with a writer that is open before the request leaves; what it gives instead of bytes is the result. */
async function stored(sending: Sending, type: string, work: Work): Promise<{ results: JobResult[] }> {
  const { options, openArtifact } = sending;
  let writer: ArtifactWriter | undefined;
  const commit = async () => {
    writer = await openArtifact?.(type);
    await options.commit?.();
  };
  const write: Write = async (chunk) => writer?.write(chunk);
  try {
    const instead = await work({ ...options, commit }, openArtifact && write);
    if (instead === undefined && writer !== undefined) {
      return { results: [{ kind: "Audio", type, artifact: await writer.commit() }] };
    }
    await discard(writer);
    return instead ?? { results: [] };
  } catch (error) {
    await discard(writer);
    throw error;
  }
}

/** What became of the request matters more than a part that the store could not remove, which nobody can see. */
async function discard(writer: ArtifactWriter | undefined): Promise<void> {
  await writer?.discard().catch(() => undefined);
}
