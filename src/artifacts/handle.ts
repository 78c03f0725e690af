import type { Clock } from "../clock.ts";
import { ArtifactError } from "./errors.ts";
import { checkKey } from "./key.ts";
import type { Backend, Sink } from "./sink.ts";
import type { Slots } from "./slots.ts";
import { type CopyLimits, openSource } from "./source.ts";
import { abortion } from "./source-failure.ts";
import type { ArtifactStoreHandle, ArtifactWriter, CopyOptions, StoredArtifact } from "./types.ts";
import { createUsage } from "./usage.ts";

export type HandleOptions = {
  clock: Clock;
  /** Read at each use: a change does not replace the handle. */
  limits: () => StoreLimits;
  /** The store has reached `maxStoreBytes`. */
  onFull?: () => void;
  /** Copies at once, over all stores: each holds up to two parts in memory. */
  slots: Slots;
};

/** `maxStoreBytes`: size of the store from which on it is full. */
export type StoreLimits = CopyLimits & { maxStoreBytes?: number | undefined };

export const DEFAULT_LIMITS: StoreLimits = { maxBytes: 4 * 1024 ** 3, maxMs: 60 * 60_000, idleMs: 60_000 };
export const COPIES_AT_ONCE = 4;

const PROGRESS_BYTES = 8 * 1024 * 1024;

/** A store as its users have it, over what its kind does. */
export function createHandle(backend: Backend, options: HandleOptions): ArtifactStoreHandle {
  const { clock, slots } = options;
  const usage = createUsage(backend, options);
  return {
    measure: usage.measure,
    full: usage.full,
    async copy(sourceURL, key, options) {
      checkKey(key);
      const limits = limitsOf(options.usedBytes ?? 0);
      const ending = new AbortController();
      const signal = AbortSignal.any([options.signal, ending.signal]);
      try {
        return await slots.run(signal, async () => {
          const seconds = limits.maxMs / 1000;
          const tooSlow = () => ending.abort(new ArtifactError("TooSlow", `the copy took longer than ${seconds} s`));
          const cancel = clock.setTimeout(tooSlow, limits.maxMs);
          try {
            const stored = await copyInto(backend, sourceURL, key, { ...options, signal, clock, limits });
            usage.add(stored.bytes);
            return stored;
          } finally {
            cancel();
          }
        });
      } catch (error) {
        if (signal.aborted) throw abortion(signal);
        throw error;
      }
    },
    async writer(key, { signal, maxBytes }) {
      checkKey(key);
      const most = options.limits().maxBytes;
      if (maxBytes !== undefined && maxBytes > most) throw overLimit(maxBytes, most);
      return writerOf(await backend.open(key, undefined, signal), maxBytes ?? most, usage.add);
    },
    abandon: (key, signal) => backend.clear(checkKey(key), signal),
    probe: (signal) => backend.probe(signal),
    dispose: () => backend.dispose(),
  };

  function limitsOf(usedBytes: number): CopyLimits {
    const limits = options.limits();
    return { ...limits, maxBytes: Math.max(0, limits.maxBytes - usedBytes) };
  }
}

function overLimit(maxBytes: number, most: number): ArtifactError {
  const message = `the result can have up to ${maxBytes} bytes, and spec.maxBytesPerJob of the ArtifactStore allows ${most}: raise it, or ask for less`;
  return new ArtifactError("TooLarge", message);
}

async function copyInto(
  backend: Backend,
  sourceURL: string,
  key: string,
  options: CopyOptions & { clock: Clock; limits: CopyLimits },
): Promise<StoredArtifact> {
  const { signal, onProgress } = options;
  const left = await backend.leftover(key, signal);
  const resume = left === undefined ? undefined : { offset: left.bytes, matches: left.matches };
  const source = await openSource(sourceURL, { ...options, resume });
  const { identity, totalBytes } = source;
  try {
    if (identity !== undefined && totalBytes !== undefined && left === undefined) {
      const there = await backend.existing(key, identity, totalBytes, signal);
      if (there !== undefined) return there;
    }
    const goesOn = left !== undefined && source.start > 0;
    const sink = goesOn ? await left.resume(signal) : await backend.open(key, identity, signal);
    let told = sink.stored();
    try {
      for await (const chunk of source.chunks) {
        await sink.write(chunk);
        const bytes = sink.stored();
        if (bytes - told < PROGRESS_BYTES) continue;
        told = bytes;
        onProgress?.({ bytes, totalBytes });
      }
      return await sink.commit();
    } catch (error) {
      // The first failure is the one to tell; what is left now goes with the next copy.
      await sink.end(identity !== undefined && canGoOn(error)).catch(() => undefined);
      throw error;
    }
  } finally {
    await source.close();
  }
}

function canGoOn(error: unknown): boolean {
  return !(error instanceof ArtifactError) || (error.retryable && error.kind !== "Corrupt");
}

/** Writes one after the other, and ends the sink once. */
function writerOf(sink: Sink, maxBytes: number, onStored: (bytes: number) => void): ArtifactWriter {
  let last: Promise<void> = Promise.resolve();
  let bytes = 0;
  let ended = false;
  const end = async () => {
    if (ended) return;
    ended = true;
    await sink.end(false);
  };
  return {
    write(chunk) {
      bytes += chunk.length;
      last = last.then(() => {
        if (bytes > maxBytes)
          throw new ArtifactError("TooLarge", `more than ${maxBytes} bytes, the most that it can have`);
        return sink.write(chunk);
      });
      // Whoever does not wait for this write hears of it at the next one or at the commit.
      last.catch(() => undefined);
      return last;
    },
    async commit() {
      try {
        await last;
        const stored = await sink.commit();
        ended = true;
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
