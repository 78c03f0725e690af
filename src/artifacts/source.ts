import { createHash } from "node:crypto";
import type { LookupFunction } from "node:net";
import { Agent, type Dispatcher } from "undici";
import { type Clock, delay } from "../clock.ts";
import { guardedConnector } from "../net/guarded-connect.ts";
import { ArtifactError } from "./errors.ts";
import { failedStatus, shownURL, sourceFailure } from "./source-failure.ts";

/** What a copy may cost at most, whatever the source does. */
export type CopyLimits = {
  /** Most bytes of one job. */
  maxBytes: number;
  /** For a whole copy, ms; the wait for a slot does not count. */
  maxMs: number;
  /** Longest silence, ms. */
  idleMs: number;
};

export type SourceOptions = {
  /** Judges the address of the source and of every redirect; `anyAddress` refuses none. */
  lookup: LookupFunction;
  limits: Omit<CopyLimits, "maxMs">;
  signal: AbortSignal;
  clock: Clock;
  /** Asked of what a former copy left: whether this is the source it came from. */
  resume?: { offset: number; matches: (identity: string) => boolean } | undefined;
};

export type Source = {
  /** Same identity, same bytes: made of size, ETag and Last-Modified. Undefined where the source cannot prove it. */
  identity: string | undefined;
  totalBytes: number | undefined;
  /** Where `chunks` begins: `resume.offset`, or 0 when that could not be had. */
  start: number;
  /** Goes on over broken connections, as long as the source stays the same and gives something between two breaks. */
  chunks: AsyncIterable<Uint8Array>;
  close(): Promise<void>;
};

type Answer = {
  response: Dispatcher.ResponseData;
  identity: string | undefined;
  total: number | undefined;
  start: number;
};

const MAX_REDIRECTS = 5;
/** Pauses between attempts to take a broken transfer up again, ms; all of them are had again after any byte. */
const PAUSES = [250, 500, 1_000, 2_000, 4_000];

/** Asks an http(s) URL for its bytes. No credentials are sent, ever. @throws ArtifactError */
export async function openSource(sourceURL: string, options: SourceOptions): Promise<Source> {
  const { limits, signal, clock, resume } = options;
  const { idleMs } = limits;
  const url = parseSource(sourceURL);
  const agent = new Agent({
    connect: guardedConnector({ lookup: options.lookup }),
    headersTimeout: idleMs,
    bodyTimeout: idleMs,
    pipelining: 1,
  });
  const close = () => agent.destroy();

  async function ask(offset: number): Promise<Answer> {
    let target = url;
    for (let hops = 0; ; hops++) {
      const range: Record<string, string> = offset === 0 ? {} : { range: `bytes=${offset}-` };
      const response = await agent.request({
        origin: target.origin,
        path: `${target.pathname}${target.search}`,
        method: "GET",
        headers: { accept: "*/*", "accept-encoding": "identity", "user-agent": "mooring", ...range },
        signal,
      });
      const location = response.headers["location"];
      if (![301, 302, 303, 307, 308].includes(response.statusCode) || typeof location !== "string") {
        return answerOf(response, offset);
      }
      drop(response);
      if (hops === MAX_REDIRECTS) {
        throw new ArtifactError("SourceGone", `${shownURL(url)} redirects more than ${MAX_REDIRECTS} times`);
      }
      target = parseSource(location, target);
    }
  }

  /** The source from `offset`; from 0 when it gives no ranges or is not what `matches` knows. */
  async function open(offset: number, matches: (identity: string) => boolean): Promise<Answer> {
    try {
      const answer = await ask(offset);
      const { statusCode } = answer.response;
      const same = answer.identity !== undefined && matches(answer.identity);
      if (statusCode === 200 || (statusCode === 206 && same && answer.start === offset)) return answer;
      drop(answer.response);
      if (offset > 0 && (statusCode === 206 || statusCode === 416)) return await open(0, matches);
      throw failedStatus(url, statusCode);
    } catch (error) {
      throw sourceFailure(error, url, signal, idleMs);
    }
  }

  async function* read(first: Answer): AsyncGenerator<Uint8Array> {
    const { identity } = first;
    let { response } = first;
    let at = first.start;
    let pauses = [...PAUSES];
    for (;;) {
      try {
        for await (const chunk of response.body) {
          const bytes: Uint8Array = chunk;
          at += bytes.length;
          if (at > limits.maxBytes) throw tooLarge(url, limits.maxBytes);
          pauses = [...PAUSES];
          yield bytes;
        }
        return;
      } catch (error) {
        response = await takeUp(sourceFailure(error, url, signal, idleMs));
      }
    }

    /** Asks for what is missing, after a break. */
    async function takeUp(cause: ArtifactError): Promise<Dispatcher.ResponseData> {
      let last = cause;
      while (last.kind === "SourceUnreachable" && identity !== undefined) {
        const pause = pauses.shift();
        if (pause === undefined) break;
        await delay(clock, pause, signal);
        const answer = await open(at, (found) => found === identity).catch((error) => {
          last = sourceFailure(error, url, signal, idleMs);
        });
        if (answer === undefined) continue;
        if (answer.start === at) return answer.response;
        drop(answer.response);
        const why = answer.identity === identity ? "gives no ranges" : "is another file now";
        const message = `${shownURL(url)} broke off after ${at} bytes and ${why}: the copy has to start again`;
        throw new ArtifactError("SourceUnreachable", message, cause);
      }
      throw last;
    }
  }

  try {
    const first = await open(resume?.offset ?? 0, (identity) => resume?.matches(identity) ?? false);
    if (first.total !== undefined && first.total > limits.maxBytes) {
      drop(first.response);
      throw tooLarge(url, limits.maxBytes);
    }
    return { identity: first.identity, totalBytes: first.total, start: first.start, chunks: read(first), close };
  } catch (error) {
    await close();
    throw error;
  }
}

function parseSource(text: string, base?: URL): URL {
  const url = URL.canParse(text, base?.href) ? new URL(text, base?.href) : undefined;
  if (url === undefined) throw new ArtifactError("SourceGone", "the source is not a URL");
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new ArtifactError("AddressRefused", `the source must be http or https, not ${url.protocol}`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new ArtifactError(
      "AddressRefused",
      `${shownURL(url)}: a source with a user or password in its URL is not fetched`,
    );
  }
  return url;
}

function answerOf(response: Dispatcher.ResponseData, asked: number): Answer {
  const header = (name: string) => response.headers[name]?.toString();
  const partial = response.statusCode === 206;
  const range = partial ? /^bytes (\d+)-\d+\/(\d+)$/.exec(header("content-range") ?? "") : null;
  const length = partial ? range?.[2] : header("content-length");
  const total = length !== undefined && /^\d+$/.test(length) ? Number(length) : undefined;
  return {
    response,
    total,
    start: range === null ? 0 : Number(range[1] ?? asked),
    identity: identityOf(header, total),
  };
}

/** A weak ETag says "as good as", which is not enough to join two halves. */
function identityOf(header: (name: string) => string | undefined, total: number | undefined): string | undefined {
  const etag = header("etag");
  const strong = etag === undefined || etag.startsWith("W/") ? undefined : etag;
  const modified = header("last-modified");
  if (total === undefined || (strong === undefined && modified === undefined)) return undefined;
  return createHash("sha256")
    .update(JSON.stringify([total, strong, modified]))
    .digest("hex")
    .slice(0, 32);
}

function drop(response: Dispatcher.ResponseData): void {
  response.body.on("error", () => undefined).destroy();
}

function tooLarge(url: URL, maxBytes: number): ArtifactError {
  return new ArtifactError(
    "TooLarge",
    `${shownURL(url)} is larger than ${maxBytes} bytes, what is left of spec.maxBytesPerJob of the ArtifactStore: raise it`,
  );
}
