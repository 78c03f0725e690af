import { expect, it } from "vitest";
import { failedStatus } from "../../../src/artifacts/errors.ts";

it("a message shows the first 300 characters of a URL, and nothing of its query", () => {
  const url = new URL(`https://media.example/${"a".repeat(2_000)}?signature=secret`);
  expect(failedStatus(url, 503).message).toBe(`https://media.example/${"a".repeat(278)} answers HTTP 503`);
});

it.each([
  [302, "SourceGone"],
  [403, "SourceGone"],
  [404, "SourceGone"],
  [408, "SourceUnreachable"],
  [425, "SourceUnreachable"],
  [429, "SourceUnreachable"],
  [202, "SourceUnreachable"],
  [500, "SourceUnreachable"],
])("HTTP %d of a result is %s: only what may pass is tried again", (status, kind) => {
  const error = failedStatus(new URL("https://media.example/a"), status);
  expect([error.kind, error.retryable]).toEqual([kind, kind === "SourceUnreachable"]);
});
