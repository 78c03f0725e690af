import type { Clock } from "../base/clock.ts";
import { createSemaphore, type Semaphore } from "../base/semaphore.ts";
import { ArtifactError, abortion } from "./errors.ts";
import { checkKey } from "./key.ts";
import { MIN_BYTES_PER_SECOND, type TransferWatch, watchPace } from "./pace.ts";
import type { S3Options } from "./s3/bucket.ts";
import { type CopyLimits, openSource } from "./source.ts";
import type { ArtifactStoreHandle, ArtifactWriter, Backend, CopyOptions, Sink, StoredArtifact } from "./types.ts";
import { createUsage } from "./usage.ts";
import { createVolumeBackend } from "./volume/backend.ts";
import type { VolumeOptions } from "./volume/folders.ts";

export type CopyHandleOptions = {
  clock: Clock;
  /** Read at each use: a change does not replace the handle. */
  limits: () => StoreLimits;
  /** The store has reached `maxStoreBytes`. */
  onFull?: () => void;
  /** Namespace of the store: namespaces take turns. */
  group: string;
  /** Copies at once, over all stores: each holds up to two parts in memory. */
  slots: Semaphore;
  /** Memory of writers, over all stores. */
  memory: Semaphore;
} & Partial<Storage>;

/** The connections to stores and sources. */
export type Storage = { openBackend: (options: StoreOptions) => Promise<Backend>; openSource: typeof openSource };

/** `maxStoreBytes`: above this size the store is full. `reuse`: ArtifactStoreHandle. */
export type StoreLimits = CopyLimits & { maxStoreBytes?: number | undefined; reuse?: boolean | undefined };

/** A copy may take as long as a URL is valid (interface: "Speech URL validity"). */
export const DEFAULT_LIMITS: StoreLimits = { maxBytes: 4 * 1024 ** 3, maxMs: 24 * 3_600_000, idleMs: 60_000 };
/** One more than a namespace can use, so that the first copy of another one starts at once. */
export const COPIES_AT_ONCE = 5;
const COPIES_OF_NAMESPACE = 4;
/** Writers to a bucket hold up to 16 MiB each. */
const WRITER_BYTES = 96 * 1024 * 1024;
const WRITER_BYTES_OF_NAMESPACE = 64 * 1024 * 1024;

/** What all stores of the process share. */
export function createSharedPools(): Pick<CopyHandleOptions, "slots" | "memory"> {
  return {
    slots: createSemaphore({ capacity: COPIES_AT_ONCE, perGroup: COPIES_OF_NAMESPACE }),
    memory: createSemaphore({ capacity: WRITER_BYTES, perGroup: WRITER_BYTES_OF_NAMESPACE }),
  };
}

const PROGRESS_BYTES = 8 * 1024 * 1024;

/** The store for its users, over the backend of its kind. */
export function createHandle(backend: Backend, options: CopyHandleOptions): ArtifactStoreHandle {
  const { clock, slots, memory, group, openSource: open = openSource } = options;
  const usage = createUsage(backend, options);
  return {
    checkKey: (key) => backend.checkKey(key),
    measure: usage.measure,
    full: usage.full,
    async copy(sourceURL, key, options) {
      checkKey(key);
      const limits = limitsOf(options.usedBytes ?? 0);
      const ending = new AbortController();
      const signal = AbortSignal.any([options.signal, ending.signal]);
      const tooSlow = (why: string) => ending.abort(new ArtifactError("TooSlow", why));
      try {
        const release = await slots.take(group, 1, signal);
        const cancel = clock.setTimeout(
          () => tooSlow(`the copy took longer than ${limits.maxMs / 1000} s`),
          limits.maxMs,
        );
        const contested = () => slots.contested() || options.urgent?.() === true;
        const judged = { contested, onSlow: () => tooSlow(HELD_UP) };
        try {
          const context = { ...options, signal, clock, limits, open, pace: () => watchPace(clock, judged) };
          const stored = await copyInto(backend, sourceURL, key, context);
          usage.add(stored.bytes);
          return stored;
        } finally {
          cancel();
          release();
        }
      } catch (error) {
        if (signal.aborted) throw abortion(signal);
        throw error;
      }
    },
    async writer(key, { signal, maxBytes }) {
      checkKey(key);
      const most = options.limits().maxBytes;
      if (maxBytes !== undefined && maxBytes > most) throw overLimit(maxBytes, most);
      const release = await memory.take(group, Math.min(backend.bufferBytes, maxBytes ?? most), signal);
      try {
        const sink = await backend.open(key, undefined, signal);
        return writerOf(sink, maxBytes ?? most, { onStored: usage.add, onEnd: release });
      } catch (error) {
        release();
        throw error;
      }
    },
    read: (key, wanted, signal) => backend.read(checkKey(key), wanted, signal),
    link: async (key, signal) => backend.link?.(checkKey(key), signal),
    create: (key, text, signal) => backend.create(checkKey(key), text, signal),
    async holds(key, { bytes, sha256 }, signal) {
      const found = await backend.digest(checkKey(key), signal);
      return found?.bytes === bytes && found.sha256 === sha256;
    },
    remove: (key, signal) => backend.remove(checkKey(key), signal),
    reuse: () => options.limits().reuse,
    abandon: (key, signal) => backend.clear(checkKey(key), signal),
    probe: (signal) => backend.probe(signal),
    dispose: () => backend.dispose(),
  };

  function limitsOf(usedBytes: number): CopyLimits {
    const limits = options.limits();
    return { ...limits, maxBytes: Math.max(0, limits.maxBytes - usedBytes) };
  }
}

const HELD_UP = `the source gave less than ${MIN_BYTES_PER_SECOND / 1024} KiB a second while other copies waited: the copy continues later`;

function overLimit(maxBytes: number, most: number): ArtifactError {
  const message = `the result can have up to ${maxBytes} bytes, and spec.maxBytesPerJob of the ArtifactStore allows ${most}: raise it, or ask for less`;
  return new ArtifactError("TooLarge", message);
}

async function copyInto(
  backend: Backend,
  sourceURL: string,
  key: string,
  options: CopyOptions & { clock: Clock; limits: CopyLimits; pace: () => TransferWatch; open: Storage["openSource"] },
): Promise<StoredArtifact> {
  const { signal, onProgress } = options;
  const left = await backend.leftover(key, signal);
  const resume = left === undefined ? undefined : { offset: left.bytes, matches: left.matches };
  const source = await options.open(sourceURL, { ...options, resume });
  const { identity, totalBytes } = source;
  try {
    if (identity !== undefined && totalBytes !== undefined && left === undefined) {
      const there = await backend.existing(key, identity, totalBytes, signal);
      if (there !== undefined) return there;
    }
    const goesOn = left !== undefined && source.start > 0;
    const sink = goesOn ? await left.resume(signal) : await backend.open(key, identity, signal);
    let told = sink.stored();
    const pace = options.pace();
    try {
      for await (const chunk of source.chunks) {
        pace.add(chunk.length);
        await sink.write(chunk);
        const bytes = sink.stored();
        if (bytes - told < PROGRESS_BYTES) continue;
        told = bytes;
        onProgress?.({ bytes, totalBytes });
      }
      pace.end(); // a commit reads the object, which can take long
      return await sink.commit();
    } catch (error) {
      pace.end();
      // Reports the first failure; the next copy deletes the leftovers.
      await sink.end(identity !== undefined && canGoOn(error)).catch(() => undefined);
      throw error;
    }
  } finally {
    await source.close();
  }
}

function canGoOn(error: unknown): boolean {
  return !(error instanceof ArtifactError) || error.resumable;
}

/** Writes one after the other, and ends the sink once. */
function writerOf(
  sink: Sink,
  maxBytes: number,
  { onStored, onEnd }: { onStored: (bytes: number) => void; onEnd: () => void },
): ArtifactWriter {
  let last: Promise<void> = Promise.resolve();
  let bytes = 0;
  let ended = false;
  const end = async () => {
    if (ended) return;
    ended = true;
    try {
      await sink.end(false);
    } finally {
      onEnd();
    }
  };
  return {
    write(chunk) {
      bytes += chunk.length;
      last = last.then(() => {
        if (bytes > maxBytes)
          throw new ArtifactError("TooLarge", `more than ${maxBytes} bytes, the most that it can have`);
        return sink.write(chunk);
      });
      // A caller that does not wait for this write gets its error from the next write or from the commit.
      last.catch(() => undefined);
      return last;
    },
    async commit() {
      try {
        await last;
        const stored = await sink.commit();
        ended = true;
        onEnd();
        onStored(stored.bytes);
        return stored;
      } catch (error) {
        await end();
        throw error;
      }
    },
    async discard() {
      await last.catch(() => undefined);
      await end();
    },
  };
}

export type StoreOptions = { kind: "s3"; s3: S3Options } | { kind: "volume"; volume: VolumeOptions };

/** Opens a store without a request. Loads the S3 SDK with the first bucket. */
export async function openStore(options: StoreOptions, handle: CopyHandleOptions): Promise<ArtifactStoreHandle> {
  const { openBackend: open = openBackend } = handle;
  return createHandle(await open(options), handle);
}

async function openBackend(options: StoreOptions): Promise<Backend> {
  if (options.kind === "volume") return createVolumeBackend(options.volume);
  const { createS3Backend } = await import("./s3/backend.ts");
  return createS3Backend(options.s3);
}
