import { expect, it } from "vitest";
import { mediaTypeOf } from "../../../src/ui/media-type.ts";

it.each([
  { type: "mp3", expected: "audio/mpeg" },
  { type: ".MP4", expected: "video/mp4" },
  { type: "html", expected: "application/octet-stream" },
  { type: "svg", expected: "application/octet-stream" },
  { type: "text/html", expected: "application/octet-stream" },
  { type: "constructor", expected: "application/octet-stream" },
  { type: "", expected: "application/octet-stream" },
])("a result of type $type is $expected: the browser runs no result", ({ type, expected }) => {
  expect(mediaTypeOf(type)).toBe(expected);
});
