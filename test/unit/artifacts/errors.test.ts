import { expect, it } from "vitest";
import { failedStatus } from "../../../src/artifacts/errors.ts";

it("a message shows the first 300 characters of a URL, and nothing of its query", () => {
  const url = new URL(`https://media.example/${"a".repeat(2_000)}?signature=secret`);
  expect(failedStatus(url, 503).message).toBe(`https://media.example/${"a".repeat(278)} answers HTTP 503`);
});
