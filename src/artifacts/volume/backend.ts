import { createHash, randomUUID } from "node:crypto";
import { link, rm, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../../base/connection-words.ts";
import { ArtifactError } from "../errors.ts";
import { checkKey } from "../key.ts";
import { type Backend, digestOf } from "../types.ts";
import { openSink, sha256OfFile } from "./file-sink.ts";
import {
  bytesUnder,
  folderOf,
  makeFolder,
  partialsOf,
  placeOf,
  removePartials,
  removeUnused,
  syncFolder,
  type VolumeOptions,
  volumeFailure,
} from "./folders.ts";
import { readVolumeFile } from "./read-file.ts";

/** A folder of a mounted volume. Partial files are in a hidden folder beside their place, and their names say what they come from. */
export function createVolumeBackend({ root, path: base }: VolumeOptions): Backend {
  async function guarded<T>(key: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw volumeFailure(error, `${base}/${key}`);
    }
  }

  return {
    checkKey: (key) => void checkKey(key),
    bufferBytes: 0,
    leftover: (key) =>
      guarded(key, async () => {
        const place = await placeOf(root, base, key);
        const [left] = (await partialsOf(place)).filter(({ safe }) => safe > 0).sort((a, b) => b.safe - a.safe);
        if (left === undefined) return undefined;
        return {
          bytes: left.safe,
          matches: (identity) => identity === left.identity,
          resume: (signal) => guarded(key, () => openSink(place, left, signal)),
        };
      }),
    open: (key, identity, signal) =>
      guarded(key, async () => {
        const place = await placeOf(root, base, key);
        await removePartials(place);
        await makeFolder(place.partials);
        return openSink(place, { identity: identity ?? randomUUID(), safe: 0 }, signal);
      }),
    // A file says nothing of where it came from: it is copied again.
    existing: async () => undefined,
    read: (key, wanted) => readVolumeFile({ root, path: base }, key, wanted),
    create: (key, text, signal) =>
      guarded(key, async () => {
        const { folder, path } = await placeOf(root, base, key);
        const written = join(folder, `.${randomUUID()}.partial`);
        try {
          await writeFile(written, text, { flag: "wx", flush: true, signal });
          // Unlike a rename, a link never replaces a file.
          await link(written, path);
          await syncFolder(folder);
          return true;
        } catch (error) {
          if (codeOf(error) === "EEXIST") return false;
          throw error;
        } finally {
          await rm(written, { force: true });
        }
      }),
    async digest(key) {
      try {
        const opened = await readVolumeFile({ root, path: base }, key, { start: 0, end: undefined });
        return opened && (await digestOf(opened.chunks));
      } catch (error) {
        if (error instanceof ArtifactError && error.kind === "NotFound") return undefined;
        throw error;
      }
    },
    remove: (key) =>
      guarded(key, async () => {
        const place = await placeOf(root, base, key);
        await rm(place.path, { force: true });
        await removeUnused(place); // a process that was killed can have left it empty
        // The last file takes its folder with it; another one may be written there at any time.
        await rmdir(place.folder).catch(() => undefined);
      }),
    clear: (key) =>
      guarded(key, async () => {
        const place = await placeOf(root, base, key);
        await removePartials(place);
        await removeUnused(place);
      }),
    probe: (signal) =>
      guarded("probe", async () => {
        const { path } = await placeOf(root, base, checkKey(`.mooring-probe-${randomUUID()}`));
        const written = Buffer.from(randomUUID());
        try {
          await writeFile(path, written, { flag: "wx", signal });
          const { sha256 } = await sha256OfFile(path, signal);
          if (sha256 !== createHash("sha256").update(written).digest("hex")) {
            throw new ArtifactError("Corrupt", `${base}: a small file read back differs from what was written`);
          }
        } finally {
          await rm(path, { force: true });
        }
      }),
    usage: (limit, signal) => guarded("", async () => bytesUnder(await folderOf(root, base), limit, signal)),
    dispose: async () => undefined,
  };
}
