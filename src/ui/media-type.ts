import { ownValue } from "../base/own-value.ts";

/** File types of results that a browser may show. Everything else is only downloaded. */
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  mp3: "audio/mpeg",
  wav: "audio/wav",
  flac: "audio/flac",
  mp4: "video/mp4",
  webm: "video/webm",
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  webp: "image/webp",
};

export const DOWNLOAD_TYPE = "application/octet-stream";

/** The media type of a result by its file type. The service's own words never decide what a browser runs. */
export function mediaTypeOf(fileType: string): string {
  return ownValue(MEDIA_TYPES, fileType.toLowerCase().replace(/^\./, "")) ?? DOWNLOAD_TYPE;
}
