import type { LookupFunction } from "node:net";
import { Agent } from "undici";
import { type Clock, delay } from "../base/clock.ts";
import { guardedConnector } from "../base/guarded-connect.ts";
import { ArtifactError, failedStatus, shownURL, sourceFailure } from "./errors.ts";
import { answerOf, type SourceAnswer } from "./source-answer.ts";

/** Limits of a copy, whatever the source does. */
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
  /** Whether the leftovers of an earlier copy come from this source. */
  resume?: { offset: number; matches: (identity: string) => boolean } | undefined;
};

export type Source = {
  /** See `SourceAnswer`. */
  identity: string | undefined;
  totalBytes: number | undefined;
  /** Where `chunks` begins: `resume.offset`, or 0 when the source cannot continue there. */
  start: number;
  /**
   * The whole rest of the file, or an error. Continues after broken connections and short ranges, while the source stays the same
   * and sends at least one byte between two breaks.
   */
  chunks: AsyncIterable<Uint8Array>;
  close(): Promise<void>;
};

type Asking = { url: URL; agent: Agent; signal: AbortSignal };
type StartedAnswer = SourceAnswer & { start: number };

const MAX_REDIRECTS = 5;
/** Pauses between attempts to continue a broken transfer, ms; they start again after any byte. */
const PAUSES = [250, 500, 1_000, 2_000, 4_000];

/** Reads the bytes of an http(s) URL. Never sends credentials. @throws ArtifactError */
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
  const asking = { url, agent, signal, idleMs };

  async function* read(first: StartedAnswer): AsyncGenerator<Uint8Array> {
    const { identity, total } = first;
    let answer = first;
    let at = first.start;
    let pauses = [...PAUSES];
    for (;;) {
      let cause: ArtifactError;
      try {
        for await (const bytes of answer.body) {
          at += bytes.length;
          if (at > limits.maxBytes) throw tooLarge(url, limits.maxBytes);
          if (at > (answer.end ?? at)) throw changed(`has more bytes than it said: ${at - bytes.length} and more`);
          pauses = [...PAUSES];
          yield bytes;
        }
        if (at === 0) throw unreachable(`answers HTTP ${answer.status} without any bytes`);
        if (at === (total ?? at)) return;
        cause = unreachable(`ended after ${at} of ${total} bytes`);
        if (at === answer.end) pauses.unshift(0);
      } catch (error) {
        cause = sourceFailure(error, url, signal, idleMs);
      }
      answer = await takeUp(cause);
    }

    /** Requests the missing bytes. */
    async function takeUp(cause: ArtifactError): Promise<StartedAnswer> {
      let last = cause;
      while (last.kind === "SourceUnreachable" && identity !== undefined) {
        const pause = pauses.shift();
        if (pause === undefined) break;
        await delay(clock, pause, signal);
        const more = await openAt(asking, at, (found) => found === identity).catch((error) => {
          last = sourceFailure(error, url, signal, idleMs);
        });
        if (more === undefined) continue;
        if (more.start === at) return more;
        more.drop();
        const why = more.identity === identity ? "does not give the rest" : "is another file now";
        throw changed(`broke off after ${at} bytes and ${why}`, cause);
      }
      throw last;
    }
  }

  const unreachable = (what: string) => new ArtifactError("SourceUnreachable", `${shownURL(url)} ${what}`);
  const changed = (what: string, cause?: unknown) =>
    new ArtifactError("SourceChanged", `${shownURL(url)} ${what}: the copy has to start again`, cause);

  try {
    const first = await openAt(asking, resume?.offset ?? 0, (identity) => resume?.matches(identity) ?? false);
    if (first.total !== undefined && first.total > limits.maxBytes) {
      first.drop();
      throw tooLarge(url, limits.maxBytes);
    }
    return { identity: first.identity, totalBytes: first.total, start: first.start, chunks: read(first), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The source from `offset`; from 0 when it sends no such range or `matches` refuses it. */
async function openAt(
  asking: Asking & { idleMs: number },
  offset: number,
  matches: (identity: string) => boolean,
): Promise<StartedAnswer> {
  const { url, signal, idleMs } = asking;
  try {
    const answer = await ask(asking, offset);
    const { status, start, identity, drop } = answer;
    const same = offset === 0 || (identity !== undefined && matches(identity));
    if (status === 200) return { ...answer, start: 0 };
    if (status === 206 && same && start === offset) return { ...answer, start };
    drop();
    if (offset > 0 && (status === 206 || status === 416)) return await openAt(asking, 0, matches);
    throw failedStatus(url, status);
  } catch (error) {
    throw sourceFailure(error, url, signal, idleMs);
  }
}

/** Asks for the bytes from `offset` on, and follows redirects. */
async function ask({ url, agent, signal }: Asking, offset: number): Promise<SourceAnswer> {
  const range: Record<string, string> = offset === 0 ? {} : { range: `bytes=${offset}-` };
  const headers = { accept: "*/*", "accept-encoding": "identity", "user-agent": "mooring", ...range };
  let target = url;
  for (let hops = 0; ; hops++) {
    const { origin, pathname, search } = target;
    const response = await agent.request({ origin, path: `${pathname}${search}`, method: "GET", headers, signal });
    const location = response.headers["location"];
    if (![301, 302, 303, 307, 308].includes(response.statusCode) || typeof location !== "string") {
      return answerOf(response, url);
    }
    response.body.on("error", () => undefined).destroy();
    if (hops === MAX_REDIRECTS) {
      throw new ArtifactError("SourceGone", `${shownURL(url)} redirects more than ${MAX_REDIRECTS} times`);
    }
    target = parseSource(location, target);
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

function tooLarge(url: URL, maxBytes: number): ArtifactError {
  return new ArtifactError(
    "TooLarge",
    `${shownURL(url)} is larger than ${maxBytes} bytes, what is left of spec.maxBytesPerJob of the ArtifactStore: raise it`,
  );
}
