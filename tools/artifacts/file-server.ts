import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliCompressSync, gzipSync } from "node:zlib";

/** What one path gives and how it misbehaves. */
export type ServedFile = {
  bytes: number;
  etag?: string | undefined;
  lastModified?: string;
  /** Whether Range is honoured. Default true. */
  ranges?: boolean;
  /** Cuts the connection after this many bytes of each answer, as long as `breaks` lasts. */
  breakAfter?: number;
  breaks?: number;
  /** Sends nothing more after this many bytes, and never ends. */
  hangAfter?: number;
  /** Without a Content-Length. */
  chunked?: boolean;
  /** Longest range that one answer gives. */
  longestRange?: number;
  /** So many bytes more than an answer to a range says it has. */
  excess?: number;
  /** Compresses every body, whatever the client accepts. */
  encoding?: "gzip" | "br" | "odd";
  status?: number;
  redirect?: string;
};

/** One request as it came. */
export type Seen = { path: string; range: string | undefined; headers: IncomingMessage["headers"] };

export type FileServer = {
  url: string;
  files: Map<string, ServedFile>;
  seen: Seen[];
  /** Bytes of bodies that were sent, of all requests together. */
  sent(): number;
  close(): Promise<void>;
};

const PIECE = 64 * 1024;
const CODERS = { gzip: gzipSync, br: brotliCompressSync, odd: (bytes: Buffer) => bytes };

/** 1 KiB blocks are windows of this. */
const TABLE = Buffer.concat(
  Array.from({ length: 256 }, (_, index) => createHash("md5").update(String(index)).digest()),
);

/** Bytes that look random and are the same for the same place, so that no file has to be kept. */
export function bytesAt(offset: number, length: number): Buffer {
  const result = Buffer.allocUnsafe(length);
  for (let index = 0; index < length; ) {
    const block = Math.floor((offset + index) / 1024);
    const within = (offset + index) % 1024;
    const start = (Math.imul(block, 0x9e3779b1) >>> 0) % (TABLE.length - 1024);
    index += TABLE.copy(result, index, start + within, start + Math.min(1024, within + length - index));
  }
  return result;
}

export function sha256Of(bytes: number): string {
  const hash = createHash("sha256");
  for (let at = 0; at < bytes; at += PIECE) hash.update(bytesAt(at, Math.min(PIECE, bytes - at)));
  return hash.digest("hex");
}

/** A real HTTP server of files on 127.0.0.1, with the faults of real ones. */
export async function startFileServer(): Promise<FileServer> {
  const files = new Map<string, ServedFile>();
  const seen: Seen[] = [];
  let sent = 0;

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? "/").split("?")[0] ?? "/";
    const range = request.headers.range;
    seen.push({ path, range, headers: request.headers });
    const file = files.get(path);
    if (file?.redirect !== undefined) return void response.writeHead(302, { location: file.redirect }).end();
    if (file === undefined || file.status !== undefined) {
      return void response.writeHead(file?.status ?? 404).end("no such file");
    }
    const { bytes, etag, lastModified, ranges = true } = file;
    const start = ranges ? Number(/^bytes=(\d+)-$/.exec(range ?? "")?.[1] ?? 0) : 0;
    if (start >= bytes && bytes > 0) return void response.writeHead(416, { "content-range": `bytes */${bytes}` }).end();
    const headers = {
      ...(etag === undefined ? {} : { etag }),
      ...(lastModified === undefined ? {} : { "last-modified": lastModified }),
    };
    if (file.encoding !== undefined) {
      const coded = CODERS[file.encoding](bytesAt(0, bytes)).subarray(0, file.breakAfter);
      response.writeHead(200, { ...headers, "content-encoding": file.encoding, "content-length": coded.length });
      return void response.end(coded);
    }
    const end = start > 0 ? Math.min(bytes, start + (file.longestRange ?? bytes)) : bytes;
    const excess = start > 0 ? (file.excess ?? 0) : 0;
    response.writeHead(start > 0 ? 206 : 200, {
      ...(file.chunked === true || excess > 0 ? {} : { "content-length": end - start }),
      ...headers,
      ...(start > 0 ? { "content-range": `bytes ${start}-${end - 1}/${bytes}` } : {}),
    });
    response.flushHeaders();
    const breaking = file.breakAfter !== undefined && (file.breaks ?? 0) > 0;
    if (breaking) file.breaks = (file.breaks ?? 0) - 1;
    const stop = Math.min(
      end + excess,
      breaking ? start + (file.breakAfter ?? 0) : bytes + excess,
      file.hangAfter ?? bytes + excess,
    );
    for (let at = start; at < stop && !response.destroyed; ) {
      const piece = bytesAt(at, Math.min(PIECE, stop - at));
      at += piece.length;
      sent += piece.length;
      if (!response.write(piece)) await drained(response);
    }
    if (file.hangAfter !== undefined) return;
    if (breaking) response.destroy();
    else response.end();
  }

  const server = createServer((request, response) => void serve(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    files,
    seen,
    sent: () => sent,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function drained(response: ServerResponse): Promise<void> {
  const waiting = new AbortController();
  const { signal } = waiting;
  await Promise.race([once(response, "drain", { signal }), once(response, "close", { signal })]).finally(() =>
    waiting.abort(),
  );
}
