import { constants } from "node:fs";
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { ArtifactError } from "../errors.ts";
import { checkKey } from "../key.ts";
import { partOf, type StoredBytes, type WantedPart } from "../types.ts";
import { openFile, type VolumeOptions, volumeFailure } from "./folders.ts";

/**
 * Opens a stored file for reading. A symbolic link below the root would lead out of the store and is refused.
 * @throws ArtifactError InvalidKey, NotFound, Denied; SourceChanged when it is not `version`
 * @returns undefined when the range begins after the end of the file
 */
export async function readVolumeFile(
  { root, path: base }: VolumeOptions,
  key: string,
  { version: wanted, ...range }: WantedPart,
): Promise<StoredBytes | undefined> {
  const shown = `${base}/${checkKey(key)}`;
  try {
    const path = join(await realpath(root), checkKey(base), key);
    if ((await realpath(path)) !== path) throw new ArtifactError("InvalidKey", `${shown} is behind a link: remove it`);
    const file = await openFile(path, constants.O_RDONLY, shown);
    const stat = await file.stat({ bigint: true });
    const size = Number(stat.size);
    const version = `${size}-${stat.mtimeNs}`;
    if (wanted !== undefined && wanted !== version) {
      await file.close();
      throw new ArtifactError("SourceChanged", `${shown} has changed`);
    }
    const part = partOf(range, size);
    if (part === undefined || part.start === part.end) {
      await file.close();
      return part && { totalBytes: size, ...part, version, chunks: nothing(), close: async () => undefined };
    }
    const stream = file.createReadStream({ start: part.start, end: part.end - 1 });
    const close = async () => void stream.destroy();
    return { totalBytes: size, ...part, version, chunks: stream, close };
  } catch (error) {
    throw volumeFailure(error, shown);
  }
}

async function* nothing(): AsyncGenerator<Uint8Array> {}
