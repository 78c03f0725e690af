import { readFileSync } from "node:fs";

/** A file in this folder. */
export type MediaFile = "tone.mp3" | "tone.flac" | "plain.mp4";

/** Returns the content of a media file. In the bundle, `scripts/bundled-media.ts` replaces this module. */
export function readMedia(file: MediaFile): Buffer {
  return readFileSync(new URL(file, import.meta.url));
}
