import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { FastifyReply } from "fastify";
import { expect, it, onTestFinished } from "vitest";
import { sendStream } from "../../../src/simulator/responses.ts";

const LINE = `${"x".repeat(256 * 1024)}\n`;
const LINES = 40;

/** A server that sends lines, whose reader is slower. `listeners`: the most at the end of the connection, looked at before each line. */
async function serve(send: (raw: ServerResponse, lines: AsyncIterable<string>) => Promise<void>) {
  const seen = { listeners: 0, lines: 0 };
  const sent = Promise.withResolvers<void>();
  const server = createServer((_, raw) => {
    async function* lines() {
      for (; seen.lines < LINES; seen.lines++) {
        seen.listeners = Math.max(seen.listeners, raw.listenerCount("close"), raw.listenerCount("error"));
        yield LINE;
      }
    }
    send(raw, lines()).then(sent.resolve, sent.reject);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return { seen, sent: sent.promise, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const send = (raw: ServerResponse, lines: AsyncIterable<string>) =>
  sendStream({ hijack: () => {}, raw } as unknown as FastifyReply, lines);

it("a long stream waits for its reader and leaves no listener behind for each wait", async () => {
  const { seen, sent, url } = await serve(send);
  const { body } = await fetch(url);
  expect(await text(body as never)).toBe(LINE.repeat(LINES));
  await sent;
  expect(seen.listeners).toBeLessThanOrEqual(5);
});

it("a stream ends when its reader is gone", async () => {
  const { seen, sent, url } = await serve(send);
  const { body } = await fetch(url);
  await body?.cancel();
  await sent;
  expect(seen.lines).toBeLessThan(LINES);
});

it("a stream sends nothing when its reader was gone before, and shows an error of its lines", async () => {
  const gone = await serve(async (raw, lines) => {
    raw.destroy();
    await once(raw, "close");
    await send(raw, lines);
  });
  await expect(fetch(gone.url)).rejects.toThrow();
  await gone.sent;
  const failing = await serve((raw) =>
    send(
      raw,
      (async function* () {
        yield LINE;
        throw new Error("no more lines");
      })(),
    ),
  );
  const failed = failing.sent.catch((error: unknown) => error);
  await expect(fetch(failing.url).then((response) => response.text())).rejects.toThrow();
  expect(await failed).toMatchObject({ message: "no more lines" });
});
