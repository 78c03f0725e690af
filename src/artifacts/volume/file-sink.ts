import { createHash, type Hash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, rename, rm } from "node:fs/promises";
import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import { ArtifactError, abortion } from "../errors.ts";
import type { Sink } from "../types.ts";
import {
  type FilePlace,
  openFile,
  type Partial,
  partialPath,
  removeUnused,
  syncFolder,
  volumeFailure,
} from "./folders.ts";

const { O_CREAT, O_EXCL, O_RDONLY, O_RDWR } = constants;
const READ_BYTES = 1024 * 1024;
/** Bytes between two syncs to disk: a later copy continues from there, even after a power cut. */
const SAFE_EVERY = 8 * 1024 * 1024;

/**
 * Writes to a partial file, from its last safe byte on, and gives it the name of `place` when it is complete, on disk and
 * read back.
 */
export async function openSink(place: FilePlace, from: Partial, signal: AbortSignal): Promise<Sink> {
  const { identity } = from;
  let { safe } = from;
  const path = () => partialPath(place, { identity, safe });
  const file = await openFile(path(), safe === 0 ? O_RDWR | O_CREAT | O_EXCL : O_RDWR, place.name);
  const hash = createHash("sha256");
  let at = safe;
  try {
    await file.truncate(safe);
    if ((await digest(file, hash, safe, signal)) !== safe) {
      throw new ArtifactError("Corrupt", `${place.name}: the partial file is shorter than its name says: remove it`);
    }
  } catch (error) {
    await file.close();
    throw error;
  }
  let isOpen = true;
  const close = async () => {
    if (!isOpen) return;
    isOpen = false;
    await file.close();
  };

  async function makeSafe(): Promise<void> {
    await file.datasync();
    const before = path();
    safe = at;
    await rename(before, path());
  }

  return {
    stored: () => safe,
    async write(chunk) {
      if (signal.aborted) throw abortion(signal);
      try {
        for (let done = 0; done < chunk.length; ) {
          done += (await file.write(chunk, done, chunk.length - done, at + done)).bytesWritten;
        }
        hash.update(chunk);
        at += chunk.length;
        if (at - safe >= SAFE_EVERY) await makeSafe();
      } catch (error) {
        throw volumeFailure(error, place.name);
      }
    },
    async commit() {
      try {
        await file.sync();
        const sha256 = hash.digest("hex");
        const found = await sha256OfFile(path(), signal, at);
        if (found.bytes !== at || found.sha256 !== sha256) {
          throw new ArtifactError("Corrupt", `${place.name}: what was read back differs from what was written`);
        }
        await rename(path(), place.path);
        await close();
        await removeUnused(place);
        await syncFolder(place.folder);
        return { uri: pathToFileURL(place.path).href, bytes: at, sha256 };
      } catch (error) {
        throw volumeFailure(error, place.name);
      }
    },
    async end(keep) {
      if (keep && isOpen && at > safe) await makeSafe();
      await close();
      if (!keep || at === 0) await rm(path(), { force: true });
      await removeUnused(place);
    },
  };
}

/** Reads a file once more, in pieces. `expected`: its bytes; of a longer one, one byte more is read. Default: not known. */
export async function sha256OfFile(
  path: string,
  signal: AbortSignal,
  expected = Number.POSITIVE_INFINITY,
): Promise<{ bytes: number; sha256: string }> {
  const file = await openFile(path, O_RDONLY, basename(path));
  try {
    const hash = createHash("sha256");
    const bytes = await digest(file, hash, expected + 1, signal);
    return { bytes, sha256: hash.digest("hex") };
  } finally {
    await file.close();
  }
}

/** Feeds the first `limit` bytes to `hash`. Returns how many there were. */
async function digest(file: FileHandle, hash: Hash, limit: number, signal: AbortSignal): Promise<number> {
  const buffer = Buffer.allocUnsafe(Math.min(READ_BYTES, limit));
  let at = 0;
  while (at < limit) {
    if (signal.aborted) throw abortion(signal);
    const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, limit - at), at);
    if (bytesRead === 0) break;
    hash.update(buffer.subarray(0, bytesRead));
    at += bytesRead;
  }
  return at;
}
