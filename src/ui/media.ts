import type { LookupFunction } from "node:net";
import type { ClusterAccountSpec } from "../api/v1alpha1/account.ts";
import type { JobResult } from "../api/v1alpha1/job.ts";
import type { AccountRef } from "../api/v1alpha1/meta.ts";
import { ArtifactError, type ArtifactErrorKind } from "../artifacts/errors.ts";
import { openSource, type Source } from "../artifacts/source.ts";
import { type ByteRange, partOf } from "../artifacts/types.ts";
import type { Clock } from "../base/clock.ts";
import type { ClusterSession, Found, ObjectName } from "./cluster-session.ts";
import { type CopyAccess, type OpenedCopy, openCopy } from "./copies.ts";
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

export type MediaOptions = CopyAccess & {
  /** Judges the addresses of result URLs, redirects included. */
  lookup(kind: AccountRef["kind"], spec: Pick<ClusterAccountSpec, "results">): LookupFunction;
  clock: Clock;
};

export type MediaOpener = (
  session: ClusterSession,
  wanted: ObjectName & { index: number; range: ByteRange | undefined },
  signal: AbortSignal,
) => Promise<Media>;

/** No source may keep a browser waiting longer, ms; and none may send more. */
const IDLE_MS = 30_000;
const MAX_BYTES = 4 * 1024 ** 3;

/** Opens results: the copy in the ArtifactStore where it can be read, else the URL that the service gave. */
export function createMediaOpener(options: MediaOptions): MediaOpener {
  return async (session, { index, range, ...key }, signal) => {
    const found = session.find(key);
    const result = found?.object.status?.results?.[index];
    if (found === undefined || result === undefined) throw new RequestError(404, "There is no such result");
    const contentType = mediaTypeOf(result.type ?? "");
    try {
      const asked = range ?? { start: 0, end: undefined };
      const copy = await openCopy(options, session, { found, result, index, range: asked }, signal);
      if (copy.kind === "Open") return { contentType, ...copy.bytes };
      const source = await openURL(options, urlOf(result, copy), {
        lookup: lookupOf(options, session, found),
        offset: asked.start,
        signal,
      }).catch((error: unknown) => {
        // The user can do something about a copy that cannot be read.
        throw copy.kind === "Unreadable" && error instanceof ArtifactError ? copy.why : error;
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

/** @throws RequestError that says why there is neither a copy nor a URL */
function urlOf({ url, address }: JobResult, copy: OpenedCopy): string {
  // Also after `expiresAt`: the service states no unit of a lifetime, and the source knows.
  if (url !== undefined && url !== "") return url;
  if (copy.kind === "Unreadable") throw copy.why;
  if (address !== undefined) throw new RequestError(403, "The account may not read from the address of the result");
  throw new RequestError(410, "The URL of the result has expired, and no copy exists");
}

type Opening = { lookup: LookupFunction; offset: number; signal: AbortSignal };

function openURL({ clock }: MediaOptions, url: string, { lookup, offset, signal }: Opening): Promise<Source> {
  const limits = { maxBytes: MAX_BYTES, idleMs: IDLE_MS };
  return openSource(url, { lookup, limits, signal, clock, resume: { offset, matches: () => true } });
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
