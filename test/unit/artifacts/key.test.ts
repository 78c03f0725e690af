import { expect, it } from "vitest";
import { artifactKey, checkKey, joinKey } from "../../../src/artifacts/key.ts";

const place = { namespace: "film", kind: "VideoJob", name: "sea", uid: "8d1f", index: 0, type: "mp4" };

it("a key names prefix, namespace, kind, name, uid, number and type", () => {
  expect(artifactKey(place)).toBe("film/VideoJob/sea/8d1f/0.mp4");
  expect(artifactKey({ ...place, prefix: "2026/sea/", index: 3, type: "MP3" })).toBe(
    "2026/sea/film/VideoJob/sea/8d1f/3.mp3",
  );
});

it.each(["", "../../etc/passwd", "a/b", "mp4?x", "x".repeat(17), "tar.gz"])("type %j becomes bin", (type) => {
  expect(artifactKey({ ...place, type })).toBe("film/VideoJob/sea/8d1f/0.bin");
});

it.each([
  [undefined, "a/b", "a/b"],
  ["", "a/b", "a/b"],
  ["/p//q/", "/a", "p/q/a"],
])("joinKey(%j, %j) is %j", (prefix, key, joined) => {
  expect(joinKey(prefix, key)).toBe(joined);
});

it.each(["", "/a", "a/", "a//b", "..", "a/../b", "./a", "a\\b", "a\0b", "a\nb", "x".repeat(256), "a/".repeat(600)])(
  "key %j is refused",
  (key) => expect(() => checkKey(key)).toThrow(/is not a relative path of at most 1024 bytes without '\.\.'/),
);

it.each(["a", "a/b.mp4", "film/VideoJob/sea/8d1f/0.mp4", "a..b/..c", "höhe/ 1.mp3"])("key %j is taken", (key) => {
  expect(checkKey(key)).toBe(key);
});
