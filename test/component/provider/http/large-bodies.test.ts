import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createResponseMemory } from "../../../../src/provider/response-memory.ts";
import { collect, failure, makeClient, type TestClient } from "./make-client.ts";

const MIB = 1024 * 1024;
const speech = { text: "Ahoy.", voice_setting: { voice_id: "v" } };
const bytesOf = (audio: Uint8Array) => audio.length;

/** Parts of the next responses: text, or that many hex digits. */
let parts: (string | number)[];
/** Their Content-Length; undefined: none. */
let length: number | undefined;
let server: Server;
let client: TestClient;
const digits = Buffer.alloc(MIB, "0f");

beforeEach(async () => {
  length = undefined;
  server = createServer(async (request, response) => {
    request.resume();
    if (length !== undefined) response.setHeader("content-length", length);
    for (const part of parts) {
      for (let left = part; typeof left === "number" && left > 0; left -= MIB) {
        if (!response.write(digits.subarray(0, Math.min(left, MIB)))) {
          await new Promise((resolve) => response.once("drain", resolve));
        }
      }
      if (typeof part === "string") response.write(part);
    }
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  client = makeClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, { requestTimeoutMs: 60_000 });
});
afterEach(async () => {
  await client.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

it("hex audio of any length goes to the sink, without being held in memory", async () => {
  parts = ['{"audio":"', 200 * MIB, '"}'];
  let bytes = 0;
  let largest = 0;
  const before = process.memoryUsage().arrayBuffers;
  let held = 0;
  const result = await client.synthesizeSpeech(speech, {}, async (audio) => {
    bytes += audio.length;
    largest = Math.max(largest, audio.length);
    held = Math.max(held, process.memoryUsage().arrayBuffers - before);
  });
  expect(result).toEqual({ bytes: 100 * MIB });
  expect(bytes).toBe(100 * MIB);
  expect(largest).toBeLessThan(MIB);
  expect(held).toBeLessThan(100 * MIB);
});

it("the error of the sink ends the transfer", async () => {
  parts = ['{"audio":"', 200 * MIB, '"}'];
  let bytes = 0;
  const full = new Error("the store is full");
  const call = client.synthesizeSpeech(speech, {}, async (audio) => {
    bytes += audio.length;
    if (bytes > MIB) throw full;
  });
  await expect(call).rejects.toBe(full);
  expect(bytes).toBeLessThan(3 * MIB);
  expect(client.events).toMatchObject([{ errorKind: "Aborted", delivery: "Unknown" }]);
});

it("a response that has more than audio is not held without a limit", async () => {
  parts = ['{"other":"', 4 * MIB, '","audio":"00"}'];
  const error = await failure(client.synthesizeSpeech(speech, {}, async () => {}));
  expect(error).toMatchObject({ kind: "UnreadableResponse", delivery: "Accepted" });
});

it.each<{ what: string; parts: (string | number)[]; bytes: number }>([
  {
    what: "a single chunk",
    parts: ['data: {"audio":"', 150 * MIB, '","status":1}\n\ndata: {"status":2}\n'],
    bytes: 75,
  },
  { what: "all of it with the end", parts: ['data: {"audio":"', 20 * MIB, '","status":2}\n'], bytes: 10 },
  {
    what: "a last chunk that repeats all audio",
    parts: ['data: {"audio":"', 150 * MIB, '","status":1}\ndata: {"audio":"', 150 * MIB, '","status":2}\n'],
    bytes: 75,
  },
  {
    what: "a last chunk that begins with all audio before it",
    parts: ['data: {"audio":"', 2 * MIB, '","status":1}\ndata: {"audio":"', 150 * MIB, '","status":2}\n'],
    bytes: 75,
  },
  {
    what: "another last chunk",
    parts: ['data: {"audio":"', 2 * MIB, '","status":1}\ndata: {"audio":"ff', 40 * MIB, 'ff","status":2}\n'],
    bytes: 21,
  },
  {
    what: "a chunk of more than 16 MiB after the first",
    parts: ['data: {"audio":"ff","status":1}\ndata: {"audio":"', 40 * MIB, '","status":1}\ndata: {"status":2}\n'],
    bytes: 20,
  },
  {
    what: "long chunks",
    parts: [
      'data: {"audio":"',
      2 * MIB,
      '","status":1}\ndata: {"audio":"',
      4 * MIB,
      '","status":1}\ndata: {"status":2}\n',
    ],
    bytes: 3,
  },
])("a stream with $what is read", async ({ parts: sent, bytes }) => {
  parts = sent;
  const lengths = [];
  for await (const { audio } of client.streamSpeech(speech)) lengths.push(bytesOf(audio));
  const total = lengths.reduce((sum, length) => sum + length, 0);
  expect(Math.floor(total / MIB)).toBe(bytes);
  expect(total % MIB).toBeLessThan(3); // the single bytes beside the digits
});

it.each<{ what: string; parts: (string | number)[] }>([
  { what: "no chunk", parts: [MIB, "\n"] },
  { what: "half a byte", parts: ['data: {"audio":"0', MIB, '","status":1}\n'] },
  { what: "other text", parts: ['data: {"audio":"', MIB, 'zz","status":1}\n'] },
  { what: "another status", parts: ['data: {"audio":"', MIB, '","status":7}\n'] },
  { what: "no end", parts: ['data: {"audio":"', MIB] },
])("a long line that has $what is unreadable", async ({ parts: sent }) => {
  parts = sent;
  const error = await failure(collect(client.streamSpeech(speech)));
  expect([error.kind, error.delivery]).toEqual(["UnreadableResponse", "Accepted"]);
});

it("sixteen large responses at once stay inside one budget", async () => {
  const memory = createResponseMemory(16 * MIB);
  await client.close();
  const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const clients = [1, 2].map(() => makeClient(baseURL, { requestTimeoutMs: 60_000, memory }));
  client = clients[0] as TestClient;
  parts = ['{"id":"e","command":"', 3 * MIB, '"}'];
  let peak = 0;
  const watch = setInterval(() => {
    peak = Math.max(peak, memory.inUse());
  }, 1);
  const records = await Promise.all(
    Array.from({ length: 16 }, (_, index) => clients[index % 2]?.getEndpoint({ endpointID: "e" })),
  );
  clearInterval(watch);
  await clients[1]?.close();
  expect(records.map((record) => record?.id)).toEqual(Array(16).fill("e"));
  expect(peak).toBeLessThanOrEqual(16 * MIB);
  expect(memory.inUse()).toBe(0);
});

it.each([
  ["with a length, before it is read", true],
  ["without a length", false],
])("a response over the limit of its operation is refused: %s", async (_, hasLength) => {
  parts = ['{"id":"', 5 * MIB, '"}'];
  length = hasLength ? 5 * MIB + 9 : undefined;
  const error = await failure(client.getEndpoint({ endpointID: "e" }));
  expect(error).toMatchObject({ kind: "UnreadableResponse", delivery: "Accepted" });
  expect(error.message).toMatch(/larger than 4194304 bytes/);
});
