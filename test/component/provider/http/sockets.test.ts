import { once } from "node:events";
import { createServer as createTcpServer, type LookupFunction, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { ADDRESS_REFUSED } from "../../../../src/base/address-guard.ts";
import { until } from "../../../support/fake-clock.ts";
import { collect, failure, makeClient, type TestClient } from "./make-client.ts";
import { answer, type RawServer, startRawServer } from "./raw-server.ts";

/** A time limit that a test waits for. A machine that is busy stops a process for less than three quarters of it. */
const SHORT_MS = 1_000;

let server: RawServer | undefined;
let client: TestClient | undefined;
afterEach(async () => {
  await server?.close();
  await client?.close();
  server = undefined;
  client = undefined;
});

const video = { input: { prompt: "a ship" } };
const speech = { text: "hello", voice_setting: { voice_id: "v" } };
const submitted = answer(200, '{"task_id":"t-1"}');
const ship = (target: TestClient, signal?: AbortSignal) => target.submitVideoToVideo(video, { signal });

/** A port where nobody listens. */
async function closedPort(): Promise<number> {
  const probe = createTcpServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}

describe("a request that never left", () => {
  it("refused connection", async () => {
    client = makeClient(`http://127.0.0.1:${await closedPort()}`);
    expect(await failure(ship(client))).toMatchObject({ kind: "Unreachable", delivery: "NotSent" });
  });

  it("a refused connection does not tell what the service's name resolves to", async () => {
    client = makeClient(`http://localhost:${await closedPort()}`);
    const { message } = await failure(ship(client));
    expect(message).toContain("the service cannot be reached: connect ECONNREFUSED");
    expect(message).not.toMatch(/127\.0\.0\.1|::1/);
  });

  it("a name that does not resolve", async () => {
    const lookup: LookupFunction = (hostname, _options, callback) =>
      callback(Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), { code: "ENOTFOUND" }), []);
    client = makeClient("http://service.invalid", { connect: { lookup } });
    expect(await failure(ship(client))).toMatchObject({ kind: "Unreachable", delivery: "NotSent" });
  });

  it("an address that the account may not use, as a name and as a literal", async () => {
    server = await startRawServer((socket) => socket.end(submitted));
    const lookup: LookupFunction = (_hostname, _options, callback) =>
      callback(Object.assign(new Error("private address"), { code: ADDRESS_REFUSED }), []);
    for (const url of [server.url, "http://service.invalid"]) {
      const guarded = makeClient(url, { connect: { lookup } });
      expect(await failure(ship(guarded))).toMatchObject({ kind: "Misconfigured", delivery: "NotSent" });
      await guarded.close();
    }
    expect(server.received).toEqual([]);
  });

  it("TLS to a server that speaks none", async () => {
    const plain = createTcpServer((socket) =>
      socket
        .on("error", () => {})
        .resume()
        .end("no TLS here\r\n"),
    );
    plain.listen(0, "127.0.0.1");
    await once(plain, "listening");
    const address = plain.address();
    client = makeClient(`https://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`);
    expect(await failure(ship(client))).toMatchObject({ kind: "Unreachable", delivery: "NotSent" });
    await new Promise((resolve) => plain.close(resolve));
  });

  it.each([
    ["an empty key", { apiKey: () => " \n" }],
    ["a key with a line break inside", { apiKey: () => "a\nb" }],
    ["no URL", { baseURL: "service" }],
    ["another protocol", { baseURL: "ftp://127.0.0.1" }],
    ["credentials in the URL", { baseURL: "http://u:p@127.0.0.1" }],
  ])("%s", async (_name, options) => {
    client = makeClient("http://127.0.0.1:1", options);
    expect(await failure(ship(client))).toMatchObject({ kind: "Misconfigured", delivery: "NotSent" });
  });

  it("aborted before", async () => {
    server = await startRawServer((socket) => socket.end(submitted));
    client = makeClient(server.url);
    expect(await failure(ship(client, AbortSignal.abort()))).toMatchObject({ kind: "Aborted", delivery: "NotSent" });
    expect(server.received).toEqual([]);
  });

  it("aborted while the journal is written", async () => {
    server = await startRawServer((socket) => socket.end(submitted));
    client = makeClient(server.url);
    const controller = new AbortController();
    const commit = async () => controller.abort();
    const call = client.submitVideoToVideo(video, { signal: controller.signal, commit });
    expect(await failure(call)).toMatchObject({ kind: "Aborted", delivery: "NotSent" });
    expect(server.received).toEqual([]);
  });

  it("a journal that cannot be written: its own error, and nothing sent", async () => {
    server = await startRawServer((socket) => socket.end(submitted));
    client = makeClient(server.url);
    const own = new Error("conflict");
    await expect(client.submitVideoToVideo(video, { commit: () => Promise.reject(own) })).rejects.toBe(own);
    expect(server.received).toEqual([]);
    expect(client.events).toEqual([]);
  });

  it("a request that names no object", async () => {
    client = makeClient("http://127.0.0.1:1");
    const error = await failure(client.getTaskResult({ taskID: "" }));
    expect(error).toMatchObject({ kind: "InvalidRequest", delivery: "NotSent" });
    expect(error.message).toContain("the identifier of the object is empty");
  });
});

describe("a request that was written", () => {
  it("reset", async () => {
    server = await startRawServer((socket) => socket.resetAndDestroy());
    client = makeClient(server.url);
    expect(await failure(ship(client))).toMatchObject({ kind: "ConnectionLost", delivery: "Unknown" });
    expect(server.received).toHaveLength(1);
  });

  it("closed without an answer", async () => {
    server = await startRawServer((socket) => socket.destroy());
    client = makeClient(server.url);
    expect(await failure(ship(client))).toMatchObject({ kind: "ConnectionLost", delivery: "Unknown" });
    expect(server.received).toHaveLength(1);
  });

  it("no answer in time", async () => {
    server = await startRawServer(() => {});
    client = makeClient(server.url, { requestTimeoutMs: SHORT_MS });
    expect(await failure(ship(client))).toMatchObject({ kind: "Timeout", delivery: "Unknown" });
  });

  it("an answer that stops half-way", async () => {
    server = await startRawServer((socket) => socket.write(submitted.slice(0, -4)));
    client = makeClient(server.url, { requestTimeoutMs: SHORT_MS });
    expect(await failure(ship(client))).toMatchObject({ kind: "Timeout", delivery: "Accepted", status: 200 });
  });

  it("aborted after", async () => {
    const controller = new AbortController();
    server = await startRawServer(() => controller.abort());
    client = makeClient(server.url);
    expect(await failure(ship(client, controller.signal))).toMatchObject({ kind: "Aborted", delivery: "Unknown" });
  });

  it("is written once, on a connection of its own, with the key and nothing else of it in the URL", async () => {
    server = await startRawServer((socket) => socket.end(submitted));
    client = makeClient(`${server.url}/prefix/`);
    await expect(ship(client)).resolves.toEqual({ taskID: "t-1" });
    await expect(ship(client)).resolves.toEqual({ taskID: "t-1" });
    expect(server.received).toHaveLength(2);
    for (const request of server.received) {
      expect(request).toMatch(/^POST \/prefix\/v3\/async\/vid2\.6-v2v HTTP\/1\.1\r\n/);
      expect(request).toMatch(/\r\nauthorization: Bearer sk-very-secret-0123456789\r\n/);
      expect(request).toMatch(/\r\ncontent-type: application\/json\r\n/);
      expect(request).toMatch(/\r\nconnection: close\r\n/);
    }
  });
});

describe("kept-alive connections", () => {
  it("that the server closes between two requests never make a paid one unknown", async () => {
    // Keep-alive is promised, and the connection is closed right after each answer: the race that breaks clients.
    server = await startRawServer((socket) => socket.write(submitted, () => socket.destroy()));
    client = makeClient(server.url);
    for (let i = 0; i < 30; i++) await expect(ship(client)).resolves.toEqual({ taskID: "t-1" });
    expect(server.received).toHaveLength(30);
  });

  it("are used again for reads", async () => {
    let connections = 0;
    const seen = new Set<unknown>();
    server = await startRawServer((socket) => {
      if (!seen.has(socket)) connections += 1;
      seen.add(socket);
      socket.write(answer(200, '{"id":"e"}'));
    });
    client = makeClient(server.url);
    for (let i = 0; i < 10; i++) await client.getEndpoint({ endpointID: "e" });
    expect(server.received).toHaveLength(10);
    expect(connections).toBeLessThan(4);
  });
});

describe("a stream", () => {
  const head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
  const one = 'data: {"audio":"0102","status":1}\n\n';
  const two = 'data: {"status":2}\n\n';

  it("hands out chunks, however the lines are cut, and ends after status 2", async () => {
    server = await startRawServer((socket) => {
      for (const byte of `${head}${one}:comment\n\ndata:{"audio":"ff","status":"1"}\r\n${two}`) socket.write(byte);
      socket.end();
    });
    client = makeClient(server.url);
    const chunks = await collect(client.streamSpeech(speech));
    expect(chunks.map(({ audio }) => Buffer.from(audio).toString("hex"))).toEqual(["0102", "ff"]);
    expect(server.received[0]).toContain('"stream":true');
    expect(server.received[0]).toContain("accept: text/event-stream, application/json\r\n");
    expect(client.events).toMatchObject([{ operation: "streamSpeech", status: 200 }]);
  });

  it.each([
    { name: "without status 2", bytes: `${head}${one}`, kind: "ConnectionLost" },
    { name: "without anything", bytes: head, kind: "ConnectionLost" },
    { name: "with a line that is no chunk", bytes: `${head}${one}oops\n`, kind: "UnreadableResponse" },
    { name: "with half a line", bytes: `${head}${one}data: {"audio":"01`, kind: "UnreadableResponse" },
    {
      name: "with an error in it",
      bytes: `${head}${one}data: {"code":500,"message":"x"}\n`,
      kind: "UnreadableResponse",
    },
    {
      name: "with audio that is not hex",
      bytes: `${head}data: {"audio":"zz","status":1}\n`,
      kind: "UnreadableResponse",
    },
  ])("$name", async ({ bytes, kind }) => {
    server = await startRawServer((socket) => socket.end(bytes));
    client = makeClient(server.url);
    expect(await failure(collect(client.streamSpeech(speech)))).toMatchObject({ kind, delivery: "Accepted" });
  });

  const aggregated = (hex: string) => `data: {"audio":"${hex}","status":2}\n\n`;
  it.each<{ name: string; body: string; audio: string; missing?: RegExp }>([
    { name: "only with the end", body: aggregated("0102"), audio: "0102" },
    { name: "repeated with the end", body: `${one}${aggregated("0102")}`, audio: "0102" },
    { name: "repeated and continued with the end", body: `${one}${aggregated("0102aa")}`, audio: "0102aa" },
    { name: "that differs with the end", body: `${one}${aggregated("ffee")}`, audio: "0102ffee" },
    { name: "that is shorter with the end", body: `${one}${aggregated("01")}`, audio: "010201" },
    { name: "twice the same", body: `${one}${one}${two}`, audio: "01020102" },
    {
      name: "that is split within a byte",
      body: 'data: {"audio":"010","status":1}\ndata: {"audio":"2ff","status":1}\ndata: {"status":2}\n',
      audio: "0102ff",
    },
    {
      name: "that ends within a byte",
      body: 'data: {"audio":"010","status":1}\ndata: {"status":2}\n',
      audio: "01",
      missing: /not hex/,
    },
    {
      name: "that ends within a byte and is repeated whole",
      body: `data: {"audio":"010","status":1}\n${aggregated("0102")}`,
      audio: "0102",
    },
    { name: "in a single JSON body", body: '{"audio":"0102"}', audio: "0102" },
    { name: "in a single JSON body over lines", body: '\n{\n  "audio": "0102"\n}\n', audio: "0102" },
    { name: "in half a JSON body", body: '{"audio":"0102', audio: "0102", missing: /JSON/ },
    { name: "and [DONE] before the end", body: `${one}data: [DONE]\n\n${two}`, audio: "0102" },
    {
      name: "and [DONE] without the end",
      body: `${one}data: [DONE]\n\n`,
      audio: "0102",
      missing: /before the synthesis/,
    },
    { name: "without the end", body: one, audio: "0102", missing: /before the synthesis was finished/ },
    { name: "in half a line", body: `${one}data: {"audio":"ff01`, audio: "0102ff01", missing: /not a chunk/ },
    { name: "around a line that is no chunk", body: `${one}oops\n${one}${two}`, audio: "01020102", missing: /oops/ },
    { name: "of an unknown status", body: `data: {"audio":"01","status":7}\n${two}`, audio: "01", missing: /status/ },
    {
      name: "that stops being hex",
      body: `data: {"audio":"01zz","status":1}\n${one}${two}`,
      audio: "010102",
      missing: /not hex/,
    },
  ])("with audio $name hands out all that can be read", async ({ body, audio, missing }) => {
    server = await startRawServer((socket) => socket.end(`${head}${body}`));
    client = makeClient(server.url);
    const pieces: string[] = [];
    const reading = (async () => {
      for await (const chunk of client.streamSpeech(speech)) pieces.push(Buffer.from(chunk.audio).toString("hex"));
    })();
    if (missing === undefined) await reading;
    else expect((await failure(reading)).message).toMatch(missing);
    expect(pieces.join("")).toBe(audio);
  });

  it("whose connection breaks hands out the audio of its last line", async () => {
    const last = 'data: {"audio":"ff01';
    server = await startRawServer((socket) => socket.write(`${head}${one}${last}`, () => socket.destroySoon()));
    client = makeClient(server.url);
    const pieces: string[] = [];
    const reading = (async () => {
      for await (const chunk of client.streamSpeech(speech)) pieces.push(Buffer.from(chunk.audio).toString("hex"));
    })();
    await failure(reading);
    expect(pieces.join("")).toBe("0102ff01");
  });

  it("that gives a URL in a single JSON body", async () => {
    const body = '{"audio":"https://files.example.com/a"}';
    server = await startRawServer((socket) => socket.end(`${head}${body}`));
    client = makeClient(server.url);
    expect(await collect(client.streamSpeech(speech))).toMatchObject([{ url: "https://files.example.com/a" }]);
  });

  it("that is reset", async () => {
    server = await startRawServer((socket) => socket.write(`${head}${one}`, () => socket.resetAndDestroy()));
    client = makeClient(server.url);
    const error = await failure(collect(client.streamSpeech(speech)));
    expect(error).toMatchObject({ kind: "ConnectionLost", delivery: "Accepted" });
  });

  it("that falls silent", async () => {
    server = await startRawServer((socket) => socket.write(`${head}${one}`));
    client = makeClient(server.url, { requestTimeoutMs: SHORT_MS });
    const error = await failure(collect(client.streamSpeech(speech)));
    expect(error).toMatchObject({ kind: "Timeout", delivery: "Accepted" });
  });

  it("that lasts longer than the time limit but is never silent", async () => {
    let sent = 0;
    server = await startRawServer((socket) => {
      socket.write(head);
      const timer = setInterval(() => {
        sent += 1;
        if (sent <= 8) socket.write(one);
        else socket.end(two);
        if (sent > 8) clearInterval(timer);
      }, SHORT_MS / 4);
    });
    client = makeClient(server.url, { requestTimeoutMs: SHORT_MS });
    expect(await collect(client.streamSpeech(speech))).toHaveLength(8);
  });

  it("that is refused", async () => {
    server = await startRawServer((socket) => socket.end(answer(403, '{"reason":"QUOTA_EXCEEDED"}')));
    client = makeClient(server.url);
    const error = await failure(collect(client.streamSpeech(speech)));
    expect(error).toMatchObject({ kind: "QuotaExceeded", delivery: "Refused" });
  });

  it("whose reader leaves", async () => {
    server = await startRawServer((socket) => socket.write(`${head}${one}`));
    client = makeClient(server.url);
    for await (const _chunk of client.streamSpeech(speech)) break;
    expect(client.events).toMatchObject([{ errorKind: "Aborted", delivery: "Unknown" }]);
  });
});

describe("a request that waits for a connection", () => {
  const later = (ms: number) => (socket: Socket) => void setTimeout(() => socket.end(submitted), ms);

  it("is timed from the moment a connection accepts it", async () => {
    server = await startRawServer(later(SHORT_MS / 4));
    client = makeClient(server.url, { requestTimeoutMs: SHORT_MS, connections: 1 });
    const calls = [1, 2, 3, 4, 5, 6].map(() => client && ship(client));
    expect(await Promise.all(calls)).toEqual(calls.map(() => ({ taskID: "t-1" })));
  });

  it("is not sent when the last check fails by then", async () => {
    server = await startRawServer(later(100));
    client = makeClient(server.url, { connections: 1 });
    const lost = new Error("the lease is lost");
    let leading = true;
    const checks: string[] = [];
    const checked = (name: string) => ({
      beforeSend: () => {
        checks.push(name);
        if (!leading) throw lost;
      },
    });
    const first = client.submitVideoToVideo(video, checked("first"));
    const second = client.submitVideoToVideo(video, checked("second"));
    await until(() => server?.received.length === 1);
    expect(checks).toEqual(["first"]);
    leading = false;
    await expect(second).rejects.toBe(lost);
    expect(await first).toEqual({ taskID: "t-1" });
    expect(checks).toEqual(["first", "second"]);
    expect(server.received).toHaveLength(1);
  });

  it("is not sent when its caller gives up", async () => {
    server = await startRawServer(later(200));
    client = makeClient(server.url, { connections: 1 });
    const caller = new AbortController();
    const first = ship(client);
    const second = failure(ship(client, caller.signal));
    await until(() => server?.received.length === 1);
    caller.abort(new Error("given up"));
    expect(await second).toMatchObject({ kind: "Aborted", delivery: "NotSent" });
    await first;
    expect(server.received).toHaveLength(1);
  });
});
