import { createHash } from "node:crypto";
import { pipeline, type Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import type { Dispatcher } from "undici";
import { ArtifactError, shownURL } from "./errors.ts";

/** What a source answers: bytes from `start` to before `end` of a file. */
export type SourceAnswer = {
  status: number;
  /** Same identity, same bytes: made of size, ETag and Last-Modified. Undefined where the source cannot prove it. */
  identity: string | undefined;
  /** Size of the whole file. Undefined: the source does not say. */
  total: number | undefined;
  /** Undefined: the answer names no part of a file, or contradicts itself. */
  start: number | undefined;
  /** Undefined: up to the end of the file, wherever that is. */
  end: number | undefined;
  body: AsyncIterable<Uint8Array>;
  /** Ends a response that nobody reads. */
  drop(): void;
};

/** @throws ArtifactError for a content coding that is not known */
export function answerOf(response: Dispatcher.ResponseData, url: URL): SourceAnswer {
  const { statusCode: status } = response;
  const header = (name: string) => response.headers[name]?.toString();
  const drop = () => void response.body.on("error", () => undefined).destroy();
  const coding = header("content-encoding")?.trim().toLowerCase() ?? "";
  if (coding !== "" && coding !== "identity" && status === 200) {
    const body = decoded(response, coding);
    if (body !== undefined)
      return { status, identity: undefined, total: undefined, start: 0, end: undefined, body, drop };
    drop();
    const shown = JSON.stringify(coding.slice(0, 50));
    throw new ArtifactError(
      "SourceUnreachable",
      `${shownURL(url)} has content-encoding ${shown}, which Mooring cannot decode`,
    );
  }
  const part = partIn(status, header);
  return { status, ...part, identity: identityOf(header, part.total), body: response.body, drop };
}

/** The request accepts no coding, but some sources send one anyway. A coded body cannot be continued. */
function decoded(response: Dispatcher.ResponseData, coding: string): AsyncIterable<Uint8Array> | undefined {
  const create = DECODERS[coding];
  // An error of either one ends the reader with it.
  return create && pipeline(response.body, create(), () => undefined);
}

const DECODERS: Readonly<Partial<Record<string, () => Transform>>> = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

type Header = (name: string) => string | undefined;

function partIn(status: number, header: Header): Pick<SourceAnswer, "total" | "start" | "end"> {
  const length = numberIn(header("content-length"));
  if (status !== 206) return { total: length, start: 0, end: length };
  const range = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(header("content-range") ?? "");
  const [start, last, total] = (range ?? []).slice(1).map(Number);
  const consistent = start !== undefined && last !== undefined && total !== undefined && start <= last && last < total;
  if (!consistent || (length !== undefined && length !== last - start + 1)) {
    return { total, start: undefined, end: undefined };
  }
  return { total, start, end: last + 1 };
}

function numberIn(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

/** A weak ETag says "as good as", which is not enough to join two halves. */
function identityOf(header: Header, total: number | undefined): string | undefined {
  const etag = header("etag");
  const strong = etag === undefined || etag.startsWith("W/") ? undefined : etag;
  const modified = header("last-modified");
  if (total === undefined || (strong === undefined && modified === undefined)) return undefined;
  return createHash("sha256")
    .update(JSON.stringify([total, strong, modified]))
    .digest("hex")
    .slice(0, 32);
}
