import { createHash } from "node:crypto";
import { ArtifactError, abortion } from "../../../src/artifacts/errors.ts";
import type { Storage } from "../../../src/artifacts/handle.ts";
import type { Backend, Sink, StoredArtifact } from "../../../src/artifacts/types.ts";
import type { Random } from "../../../src/simulator/random.ts";
import type { ProcessTime } from "../engine/process-clock.ts";
import type { Scheduler } from "../engine/scheduler.ts";
import type { Judge } from "../invariants/violation.ts";
import { drawLatency, type Weather } from "./weather.ts";

/** What lies in the stores of all namespaces, and what is on its way there. */
export type Bucket = {
  /** How one process reaches the stores, and the results at the service. */
  storageOf(identity: string, network: BucketNetwork): Storage;
  find(uri: string): StoredArtifact | undefined;
  uris(): string[];
  /** A user stores an object. */
  upload(uri: string): void;
  /** What a URL was signed for, and when, ms since the epoch. Undefined: it is not signed. */
  signed(url: string): { uri: string; at: number } | undefined;
  /** Writers that running processes opened and did not end. */
  openSinks(): number;
};

export type BucketNetwork = { scheduler: Scheduler; time: ProcessTime; weather: () => Weather; random: Random };

/** `expiresAtMs`: undefined, there is no result with this ID. */
type Sources = { expiresAt: (id: string) => number | undefined; now: () => number; judge: Judge };
type Upload = { identity: string | undefined; text: string };

/** A result comes in pieces, and its length is known. */
const PIECES = 4;
const contentOf = (id: string) => Array.from({ length: PIECES }, (_, i) => `${i}:${id};`);
/** Two writers fill the share of a namespace. */
const BUFFER_BYTES = 32 * 1024 * 1024;

/** Every part has its place, as in a store: a process that woke up and writes what it was about to does not move the others. */
function written(text: string, at: number, part: string): string {
  return text.slice(0, at) + part + text.slice(at + part.length);
}

function storedAs(key: string, text: string): StoredArtifact {
  const bytes = Buffer.from(text, "latin1");
  return { uri: `s3://${key}`, bytes: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") };
}

export function createBucket({ expiresAt, now, judge }: Sources): Bucket {
  const objects = new Map<string, StoredArtifact & { identity: string | undefined; text: string }>();
  const uploads = new Map<string, Upload>();
  const links = new Map<string, { uri: string; at: number }>();
  const sinks = new Map<object, { identity: string; key: string; time: ProcessTime }>();

  /** The signature is a secret. */
  function sign(uri: string): string {
    const url = `${uri.replace("s3://", "https://bucket.invalid/")}?X-Amz-Signature=canary-env-${links.size}`;
    links.set(url, { uri, at: now() });
    return url;
  }

  function storageOf(identity: string, { scheduler, time, weather, random }: BucketNetwork): Storage {
    /** A request: it takes effect, fails before that, or its response is lost. */
    function ask<T>(signal: AbortSignal, effect: () => T, kind: "StoreUnreachable" | "SourceUnreachable"): Promise<T> {
      return new Promise((resolve, reject) => {
        const fault = weather().down ? 0 : random.next() / Math.max(weather().faults, 1e-9);
        scheduler.after(drawLatency(weather(), random), () =>
          time.deliver(() => {
            if (signal.aborted) return reject(abortion(signal));
            const failed = new ArtifactError(kind, "the connection broke");
            if (fault < 0.5) return reject(failed);
            try {
              const result = effect();
              if (fault < 1) reject(failed);
              else resolve(result);
            } catch (error) {
              reject(error);
            }
          }),
        );
      });
    }

    function sinkOf(key: string, upload: Upload, signal: AbortSignal, stored = ""): Sink {
      const sink = {};
      let own = stored;
      const inParallel = [...sinks.values()].some((one) => one.identity === identity && one.key === key);
      if (inParallel) judge.violated("CopiedWhole", `${identity} writes ${key} twice at the same time`);
      sinks.set(sink, { identity, key, time });
      return {
        stored: () => own.length,
        async write(chunk) {
          const text = Buffer.from(chunk).toString("latin1");
          await ask(
            signal,
            () => {
              upload.text = written(upload.text, own.length, text);
              own += text;
            },
            "StoreUnreachable",
          );
        },
        async commit() {
          const { text, identity: source } = upload;
          if (text !== own) throw new ArtifactError("Corrupt", "another process wrote to the same upload");
          if (source !== undefined && text !== contentOf(source).join("")) {
            judge.violated("CopiedWhole", `${key} is stored as "${text}" and comes from ${source}`);
          }
          const stored = storedAs(key, text);
          await ask(signal, () => void objects.set(key, { ...stored, identity: source, text }), "StoreUnreachable");
          uploads.delete(key);
          sinks.delete(sink);
          return stored;
        },
        async end(keep) {
          sinks.delete(sink);
          if (!keep) uploads.delete(key);
        },
      };
    }

    const backendAt = (place: string): Backend => ({
      checkKey: () => {},
      bufferBytes: BUFFER_BYTES,
      leftover: (short, signal) =>
        ask(
          signal,
          () => {
            const key = `${place}/${short}`;
            const upload = uploads.get(key);
            if (upload?.identity === undefined || upload.text === "") return undefined;
            const { text } = upload;
            return {
              bytes: text.length,
              matches: (source) => source === upload.identity,
              resume: async (resumed) => sinkOf(key, upload, resumed, text),
            };
          },
          "StoreUnreachable",
        ),
      open: (short, source, signal) =>
        ask(signal, () => uploads.set(`${place}/${short}`, { identity: source, text: "" }), "StoreUnreachable").then(
          () => sinkOf(`${place}/${short}`, uploads.get(`${place}/${short}`) ?? { identity: source, text: "" }, signal),
        ),
      existing: (short, source, bytes, signal) =>
        ask(
          signal,
          () => {
            const found = objects.get(`${place}/${short}`);
            return found?.identity === source && found.bytes === bytes ? found : undefined;
          },
          "StoreUnreachable",
        ),
      read: (short, { start, end }, signal) =>
        ask(
          signal,
          () => {
            const { text, sha256 } = objects.get(`${place}/${short}`) ?? {};
            if (text === undefined) throw new ArtifactError("NotFound", `${short} does not exist`);
            if (start > 0 && start >= text.length) return undefined;
            const part = Buffer.from(text.slice(start, end), "latin1");
            const chunks = (async function* () {
              yield part;
            })();
            const close = async () => {};
            return { totalBytes: text.length, start, end: start + part.length, version: sha256, chunks, close };
          },
          "StoreUnreachable",
        ),
      link: (short, signal) =>
        ask(
          signal,
          () => {
            const { uri, sha256 } = objects.get(`${place}/${short}`) ?? {};
            if (uri === undefined || sha256 === undefined)
              throw new ArtifactError("NotFound", `${short} does not exist`);
            return { uri, version: sha256, url: async () => sign(uri) };
          },
          "StoreUnreachable",
        ),
      create: (short, text, signal) =>
        ask(
          signal,
          () => {
            const key = `${place}/${short}`;
            if (objects.has(key)) return false;
            const latin = Buffer.from(text).toString("latin1");
            objects.set(key, { ...storedAs(key, latin), identity: undefined, text: latin });
            return true;
          },
          "StoreUnreachable",
        ),
      digest: (short, signal) => ask(signal, () => objects.get(`${place}/${short}`), "StoreUnreachable"),
      remove: (short, signal) => ask(signal, () => void objects.delete(`${place}/${short}`), "StoreUnreachable"),
      clear: (short, signal) => ask(signal, () => void uploads.delete(`${place}/${short}`), "StoreUnreachable"),
      probe: (signal) => ask(signal, () => {}, "StoreUnreachable"),
      usage: async () => 0,
      dispose: async () => {},
    });

    return {
      openBackend: async (options) => backendAt(options.kind === "s3" ? options.s3.bucket : options.volume.path),
      async openSource(url, { signal, resume }) {
        const id = /__files\/([^/]+)\//.exec(url)?.[1] ?? "";
        const pieces = contentOf(id);
        const until = await ask(signal, () => expiresAt(id), "SourceUnreachable");
        if (until === undefined || until <= now()) throw new ArtifactError("SourceGone", "the URL has expired");
        const goesOn = resume?.matches(id) === true;
        const text = pieces.join("").slice(goesOn ? resume.offset : 0);
        async function* chunks() {
          for (let at = 0; at < text.length; at += 10) {
            await ask(signal, () => {}, "SourceUnreachable");
            yield Buffer.from(text.slice(at, at + 10));
          }
        }
        const totalBytes = pieces.join("").length;
        return { identity: id, totalBytes, start: totalBytes - text.length, chunks: chunks(), close: async () => {} };
      },
    };
  }

  return {
    storageOf,
    find: (uri) => objects.get(uri.replace("s3://", "")),
    uris: () => [...objects.keys()].map((key) => `s3://${key}`),
    upload(uri) {
      const key = uri.replace("s3://", "");
      const text = `a user stored ${key}`;
      objects.set(key, { ...storedAs(key, text), identity: undefined, text });
    },
    signed: (url) => links.get(url),
    openSinks: () => [...sinks.values()].filter(({ time }) => time.alive()).length,
  };
}
