import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { EnvHttpProxyAgent, fetch, type Response } from "undici";

const connectTimeoutMs = 3_000;

export type Checksum = { algorithm: "sha256" | "sha512"; hex: string };

/** Fetches over HTTP(S), through the machine's proxy if its variables name one. Gives up when nobody answers a connection within 3 s. */
export type Downloader = {
  /** The body of `url` as text. Rejects unless the answer is 200. */
  text(url: string): Promise<string>;
  /** Writes the body of `url` to `path`; rejects, naming both, when its checksum is another. `onBytes` gets the bytes so far. */
  file(url: string, path: string, checksum: Checksum, onBytes?: (bytes: number) => void): Promise<void>;
  close(): Promise<void>;
};

export function createDownloader(signal?: AbortSignal): Downloader {
  const dispatcher = new EnvHttpProxyAgent({ connect: { timeout: connectTimeoutMs } });
  const get = async (url: string): Promise<Response> => {
    const response = await fetch(url, { dispatcher, ...(signal === undefined ? {} : { signal }) });
    if (!response.ok) {
      await response.body?.cancel();
      throw new Error(`${url}: HTTP ${response.status}`);
    }
    return response;
  };
  return {
    text: async (url) => (await get(url)).text(),
    file: async (url, path, checksum, onBytes = () => undefined) => {
      const { body } = await get(url);
      if (body === null) {
        throw new Error(`${url}: an empty answer`);
      }
      const hash = createHash(checksum.algorithm);
      let bytes = 0;
      await pipeline(
        Readable.from(body),
        async function* (chunks: AsyncIterable<Uint8Array>) {
          for await (const chunk of chunks) {
            hash.update(chunk);
            bytes += chunk.length;
            onBytes(bytes);
            yield chunk;
          }
        },
        createWriteStream(path),
      );
      const hex = hash.digest("hex");
      if (hex !== checksum.hex.toLowerCase()) {
        throw new Error(`${url}: its ${checksum.algorithm} is ${hex}, not ${checksum.hex} as published; not used`);
      }
    },
    close: () => dispatcher.close(),
  };
}

/** What went wrong, in one line: fetch hides it in the causes. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) {
    return String(error);
  }
  const code = "code" in error ? `${error.code}: ` : "";
  const own = `${code}${error.message}`.split("\n")[0] ?? "";
  return error.cause === undefined ? own : `${own} (${reasonOf(error.cause)})`;
}
