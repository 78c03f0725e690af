import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readdir, realpath, rm, rmdir } from "node:fs/promises";
import { basename, dirname, join, relative, sep } from "node:path";
import { codeOf, connectionWords } from "../../base/connection-words.ts";
import { ArtifactError, type ArtifactErrorKind, abortion } from "../errors.ts";
import { checkKey } from "../key.ts";

export type VolumeOptions = {
  /** The operator's `--artifact-root`. */
  root: string;
  /** `spec.volume.path`. */
  path: string;
};

/**
 * A file of a volume. `partials`: the hidden folder beside it in which it is written. No folder of results is listed: it can have 100,000
 * files.
 */
export type FilePlace = { folder: string; name: string; path: string; partials: string };

/**
 * The path of a key under `root`/`base`. Creates missing folders. Each must be a real folder:
 * a symbolic link would lead out of the store. `root` itself may be a link, it is the administrator's.
 * @throws ArtifactError InvalidKey, NotFound, Denied
 */
export async function placeOf(root: string, base: string, key: string): Promise<FilePlace> {
  const name = basename(checkKey(key));
  try {
    const real = await realpath(root);
    const segments = [...checkKey(base).split("/"), ...dirname(key).split("/")].filter((segment) => segment !== ".");
    let folder = real;
    for (const segment of segments) {
      folder = join(folder, segment);
      await makeFolder(folder);
      await assertOwn(folder, (await lstat(folder)).isDirectory(), real);
    }
    const path = join(folder, name);
    const present = await lstat(path).catch(() => undefined);
    await assertOwn(path, present === undefined || present.isFile(), real);
    const partials = join(folder, `.${name}.partial`);
    const begun = await lstat(partials).catch(() => undefined);
    await assertOwn(partials, begun === undefined || begun.isDirectory(), real);
    return { folder, name, path, partials };
  } catch (error) {
    throw volumeFailure(error, `${base}/${key}`);
  }
}

export async function makeFolder(path: string): Promise<void> {
  await mkdir(path).catch((error) => {
    if (error.code !== "EEXIST") throw error;
  });
}

async function assertOwn(path: string, good: boolean, root: string): Promise<void> {
  if (good) return;
  const shown = relative(root, path).split(sep).join("/");
  throw new ArtifactError("InvalidKey", `${shown} under the artifact root is a link or of the wrong kind: remove it`);
}

/** The folder of a store. */
export async function folderOf(root: string, base: string): Promise<string> {
  return join(await realpath(root), checkKey(base));
}

/** Bytes of all files under a folder, partial ones too. Links are not followed. Counts no further than `limit`. */
export async function bytesUnder(folder: string, limit: number, signal: AbortSignal): Promise<number> {
  let bytes = 0;
  const folders = [folder];
  for (let at = folders.pop(); at !== undefined && bytes < limit; at = folders.pop()) {
    for (const entry of await readdir(at, { withFileTypes: true }).catch(ignoreMissing)) {
      if (signal.aborted) throw abortion(signal);
      const path = join(at, entry.name);
      if (entry.isDirectory()) folders.push(path);
      // A file may be removed or renamed meanwhile.
      else if (entry.isFile()) bytes += (await lstat(path).catch(() => undefined))?.size ?? 0;
    }
  }
  return bytes;
}

function ignoreMissing(error: unknown): never[] {
  if (codeOf(error) === "ENOENT") return [];
  throw error;
}

/** What the name of a partial file says: its source, and how many of its bytes are surely on disk. */
export type Partial = { identity: string; safe: number };

/** `.NAME.partial/IDENTITY-SAFE` */
export function partialPath({ partials }: FilePlace, { identity, safe }: Partial): string {
  return join(partials, `${identity}-${safe}`);
}

/** Partial files of a file: being written, or leftovers. */
export async function partialsOf({ partials }: FilePlace): Promise<(Partial & { path: string })[]> {
  const names = await readdir(partials).catch(ignoreMissing);
  return names.flatMap((name) => {
    const [, identity = "", safe] = /^([-0-9a-f]+)-(\d+)$/.exec(name) ?? [];
    return safe === undefined ? [] : [{ path: join(partials, name), identity, safe: Number(safe) }];
  });
}

export async function removePartials(place: FilePlace): Promise<void> {
  for (const { path } of await partialsOf(place)) await rm(path, { force: true });
}

/** Removes the folder of partial files, unless it has one: another writer's, or what a later copy continues. */
export async function removeUnused({ partials }: FilePlace): Promise<void> {
  await rmdir(partials).catch(() => undefined);
}

/**
 * Opens a regular file. A named pipe in its place would block until somebody writes to it, and then give bytes without an end.
 * @throws ArtifactError InvalidKey
 */
export async function openFile(path: string, flags: number, shown: string): Promise<FileHandle> {
  const file = await open(path, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw new ArtifactError("InvalidKey", `${shown} is not a regular file: remove it`);
}

/** Makes a rename in the folder last through a power cut. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

const KINDS: Record<string, ArtifactErrorKind> = {
  ENOENT: "NotFound",
  ENOTDIR: "NotFound",
  EACCES: "Denied",
  EPERM: "Denied",
  EROFS: "Denied",
  ENOSPC: "NoSpace",
  EDQUOT: "NoSpace",
  ENAMETOOLONG: "InvalidKey",
  ELOOP: "InvalidKey",
};

/** What a failed call of the file system means. An `ArtifactError` passes through. */
export function volumeFailure(error: unknown, shown: string): ArtifactError {
  if (error instanceof ArtifactError) return error;
  const kind = KINDS[codeOf(error)] ?? "StoreUnreachable";
  return new ArtifactError(kind, `${shown}: ${connectionWords(error)}`, error);
}
