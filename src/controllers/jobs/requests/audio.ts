import type { JobResult } from "../../../api/v1alpha1/job.ts";
import type { ArtifactWriter, StoredArtifact } from "../../../artifacts/types.ts";
import { ServiceError } from "../../../provider/errors.ts";
import { maxAudioBytes } from "../../../provider/speech/body.ts";
import type { Speech } from "../../../provider/types.ts";
import { AcceptedError } from "../../../submission/submit-once.ts";
import { messageOf } from "../../verdict.ts";
import { jobResults } from "../tasks.ts";
import { type Accepted, PartlyStoredError, type SendContext } from "../types.ts";

/**
 * One synthesis in one response: a URL is the result itself, bytes go into the store as they arrive. The store is opened before the
 * request is sent, so a store that refuses the artifact costs nothing.
 */
export async function synthesize(
  request: Parameters<Speech["synthesize"]>[0],
  type: string,
  sending: SendContext,
): Promise<Accepted> {
  const { session, clock } = sending;
  return stored(
    request.outputFormat === "hex" ? sending : { ...sending, openArtifact: undefined },
    { type, maxBytes: maxAudioBytes(request) },
    async (options, write) => {
      const result = await session.speech.synthesize(request, options, write);
      if ("bytes" in result) return undefined;
      return { results: jobResults([{ kind: "Audio", url: result.url, type }], clock.now(), session.resultLookup) };
    },
  );
}

/**
 * One synthesis as a stream of chunks. Each chunk goes to the store when it arrives. The service may give a URL instead.
 */
export async function stream(
  request: Parameters<Speech["stream"]>[0],
  type: string,
  sending: SendContext,
): Promise<Accepted> {
  const { session, clock, progress } = sending;
  let firstAudioMs: number | undefined;
  let bytes = 0;
  let results: JobResult[] = [];
  const artifact = { type, maxBytes: maxAudioBytes(request) };
  const accepted = await stored(sending, artifact, async (options, write) => {
    let sentAt = clock.monotonic();
    const beforeSend = () => {
      options.beforeSend?.();
      sentAt = clock.monotonic();
    };
    for await (const { audio, url } of session.speech.stream(request, { ...options, beforeSend })) {
      if (url !== undefined) results = jobResults([{ kind: "Audio", url, type }], clock.now(), session.resultLookup);
      if (audio.length === 0) continue;
      if (firstAudioMs === undefined) {
        firstAudioMs = Math.round(clock.monotonic() - sentAt);
        progress.firstAudio(firstAudioMs);
      }
      bytes += audio.length;
      await write?.(audio);
    }
    return bytes === 0 ? { results } : undefined;
  });
  return { ...accepted, ...(firstAudioMs === undefined ? {} : { firstAudioMs }) };
}

type Write = (chunk: Uint8Array) => Promise<void>;
type Synthesis = (
  options: SendContext["options"],
  write: Write | undefined,
) => Promise<{ results: JobResult[] } | undefined>;

/**
 * Runs `work` with a writer that is open before the request is sent. `work` returns results, or undefined for bytes. When the response
 * breaks off, the bytes that came are stored.
 */
async function stored(
  sending: SendContext,
  { type, maxBytes }: { type: string; maxBytes: number },
  work: Synthesis,
): Promise<{ results: JobResult[] }> {
  const { options, openArtifact } = sending;
  let writer: ArtifactWriter | undefined;
  let bytes = 0;
  const commit = async () => {
    writer = await openArtifact?.(type, maxBytes);
    await options.commit?.();
  };
  const write: Write = async (chunk) => {
    if (writer === undefined) return;
    await kept(writer.write(chunk));
    bytes += chunk.length;
  };
  try {
    const instead = await work({ ...options, commit }, openArtifact && write);
    if (instead === undefined && writer !== undefined) {
      return { results: [{ kind: "Audio", type, artifact: await kept(writer.commit()) }] };
    }
    await discard(writer);
    return instead ?? { results: [] };
  } catch (error) {
    const isPart = bytes > 0 && error instanceof ServiceError && error.delivery === "Accepted";
    const artifact = isPart ? await writer?.commit().catch(() => undefined) : undefined;
    if (artifact !== undefined) throw incomplete(error, { kind: "Audio", type, artifact });
    await discard(writer);
    throw error;
  }
}

/** The audio is paid for, so the part that arrived is kept. */
function incomplete(error: unknown, part: JobResult & { artifact: StoredArtifact }): PartlyStoredError {
  const { bytes, uri } = part.artifact;
  const message = `${messageOf(error)}: the rest of the audio is missing. The ${bytes} bytes that came are stored at ${uri}`;
  return new PartlyStoredError(error, [part], message);
}

/** There is audio to store only after a 2xx. @throws AcceptedError when it cannot be stored */
async function kept<T>(storing: Promise<T>): Promise<T> {
  try {
    return await storing;
  } catch (error) {
    throw new AcceptedError(error);
  }
}

/** Ignores errors: the outcome of the request matters more than a part that readers of the store do not see. */
async function discard(writer: ArtifactWriter | undefined): Promise<void> {
  await writer?.discard().catch(() => undefined);
}
