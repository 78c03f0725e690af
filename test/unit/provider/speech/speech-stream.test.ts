import { expect, it } from "vitest";
import { createSanitizer } from "../../../../src/base/sanitizer.ts";
import type { Answer } from "../../../../src/provider/http/answer.ts";
import { readSpeechStream } from "../../../../src/provider/speech/speech-stream.ts";

it("a long line takes memory while it may repeat the audio before it, and gives it back", async () => {
  let reserved = 0;
  let most = 0;
  async function* chunks() {
    yield Buffer.from('data: {"audio":"00ff","status":1}\n');
    yield Buffer.from(`data: {"audio":"${"ab".repeat(200_000)}`);
    yield Buffer.from('cd","status":1}\n');
    yield Buffer.from('data: {"status":2}\n');
  }
  const answer: Answer = {
    operation: "streamSpeech",
    status: 200,
    chunks: chunks(),
    sanitize: createSanitizer({ apiKeys: () => [] }),
    async reserve(bytes) {
      reserved += bytes;
      most = Math.max(most, reserved);
      return () => {
        reserved -= bytes;
      };
    },
    parse: (text, read) => read(JSON.parse(text)),
    unreadable: (why) => {
      throw new Error(why);
    },
  };
  let bytes = 0;
  for await (const { audio } of readSpeechStream(answer)) bytes += audio.length;
  expect(bytes).toBe(2 + 200_001);
  expect(most).toBeGreaterThan(0);
  expect(reserved).toBe(0);
});
