import type { LookupFunction } from "node:net";
import type { ClusterAccountSpec } from "../api/v1alpha1/account.ts";
import type { JobResult } from "../api/v1alpha1/job.ts";
import { artifactStoreResource } from "../api/v1alpha1/kinds.ts";
import type { AccountRef } from "../api/v1alpha1/meta.ts";
import { ArtifactError, type ArtifactErrorKind } from "../artifacts/errors.ts";
import { artifactKey } from "../artifacts/key.ts";
import { openSource, type Source } from "../artifacts/source.ts";
import { type ByteRange, partOf, type StoredBytes } from "../artifacts/stored-bytes.ts";
import { readVolumeFile } from "../artifacts/volume/read-file.ts";
import type { Clock } from "../clock.ts";
import type { ClusterSession, Found, ObjectKey } from "./cluster-session.ts";
import { mediaTypeOf } from "./media-type.ts";
import { RequestError } from "./request-error.ts";

/** A result on its way to the page. */
export type Media = {
  contentType: string;
  /** Undefined: the source does not say; the result then has no ranges. */
  totalBytes: number | undefined;
  start: number;
  end: number | undefined;
  chunks: AsyncIterable<Uint8Array>;
  close(): Promise<void>;
};

export type MediaOptions = {
  /** Folder in which the volume of ArtifactStores is mounted. Undefined: copies on volumes are not read. */
  artifactRoot: string | undefined;
  /** Judges the addresses of result URLs, redirects included. */
  lookup(kind: AccountRef["kind"], spec: Pick<ClusterAccountSpec, "results">): LookupFunction;
  clock: Clock;
};

export type MediaOpener = (
  session: ClusterSession,
  wanted: ObjectKey & { index: number; range: ByteRange | undefined },
  signal: AbortSignal,
) => Promise<Media>;

/** No source may keep a browser waiting longer, ms; and none may send more. */
const IDLE_MS = 30_000;
const MAX_BYTES = 4 * 1024 ** 3;

/** Opens results: the copy on the volume where it can be read, else the URL that the service gave. */
export function createMediaOpener(options: MediaOptions): MediaOpener {
  return async (session, { index, range, ...key }, signal) => {
    const found = session.find(key);
    const result = found?.object.status?.results?.[index];
    if (found === undefined || result === undefined) throw new RequestError(404, "There is no such result");
    const contentType = mediaTypeOf(result.type ?? "");
    try {
      const asked = range ?? { start: 0, end: undefined };
      const copy = await openCopy(options, session, { found, result, index }, asked);
      if (copy !== undefined) return { contentType, ...copy };
      const source = await openSource(urlOf(result, options.clock.now()), {
        lookup: lookupOf(options, session, found),
        limits: { maxBytes: MAX_BYTES, idleMs: IDLE_MS },
        signal,
        clock: options.clock,
        resume: { offset: asked.start, matches: () => true },
      });
      return { contentType, ...(await partOfSource(source, asked)) };
    } catch (error) {
      if (error instanceof ArtifactError) throw new RequestError(STATUS[error.kind] ?? 502, error.message);
      throw error;
    }
  };
}

const STATUS: Partial<Record<ArtifactErrorKind, number>> = {
  SourceGone: 410,
  AddressRefused: 403,
  TooLarge: 413,
  InvalidKey: 400,
  Denied: 403,
  NotFound: 404,
};

const UNSATISFIABLE = new RequestError(416, "The range begins after the end of the result");

type Wanted = { found: Found; result: JobResult; index: number };

/** The copy of the result, if it is on a volume that is mounted here. The key comes from the object, not from its status. */
async function openCopy(
  { artifactRoot }: MediaOptions,
  session: ClusterSession,
  { found, result, index }: Wanted,
  range: ByteRange,
): Promise<StoredBytes | undefined> {
  const { metadata, spec } = found.object;
  const { kind } = found.resource;
  if (result.artifact === undefined || spec.output === undefined || artifactRoot === undefined) return undefined;
  const { name, uid, namespace = "" } = metadata;
  const { storeRef, prefix } = spec.output;
  const store = session.find({ kind: artifactStoreResource.kind, namespace, name: storeRef.name });
  const volume = store?.object.spec.volume;
  if (volume === undefined) return undefined;
  const key = artifactKey({ prefix, namespace, kind, name, uid, index, type: result.type ?? "" });
  const bytes = await readVolumeFile({ root: artifactRoot, path: volume.path }, key, range);
  if (bytes === undefined) throw UNSATISFIABLE;
  return bytes;
}

function urlOf({ url, artifact, expiresAt }: JobResult, now: number): string {
  if (url !== undefined && url !== "" && !(Date.parse(expiresAt ?? "") <= now)) return url;
  const copy = artifact === undefined ? "no copy exists" : `this page cannot read the copy ${artifact.uri}`;
  throw new RequestError(410, `The URL of the result has expired, and ${copy}`);
}

function lookupOf({ lookup }: MediaOptions, session: ClusterSession, { object }: Found): LookupFunction {
  const account = object.status?.account;
  if (account?.kind !== "ClusterAccount") return lookup("Account", {});
  const found = session.find({ kind: account.kind, namespace: "", name: account.name });
  return lookup(account.kind, { results: found?.object.spec.results });
}

/** A source begins where it can: what comes before the range is read and dropped. */
async function partOfSource(source: Source, range: ByteRange): Promise<Omit<Media, "contentType">> {
  const { totalBytes, start, close } = source;
  if (totalBytes === undefined) {
    if (start === 0) return { totalBytes, start: 0, end: undefined, chunks: source.chunks, close };
    await close();
    throw new RequestError(502, "The source does not give the size of the result");
  }
  const part = partOf(range, totalBytes);
  if (part === undefined) {
    await close();
    throw UNSATISFIABLE;
  }
  return { totalBytes, ...part, chunks: cut(source.chunks, part.start - start, part.end - part.start), close };
}

async function* cut(chunks: AsyncIterable<Uint8Array>, skip: number, take: number): AsyncGenerator<Uint8Array> {
  let toSkip = skip;
  let left = take;
  for await (const chunk of chunks) {
    const kept = chunk.subarray(Math.min(toSkip, chunk.length));
    toSkip -= chunk.length - kept.length;
    const sent = kept.subarray(0, left);
    left -= sent.length;
    if (sent.length > 0) yield sent;
    if (left === 0) return;
  }
}
