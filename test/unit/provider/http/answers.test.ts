import { afterEach, describe, expect, it } from "vitest";
import type { Delivery, ServiceErrorKind } from "../../../../src/provider/errors.ts";
import { failure, KEY, makeClient } from "./make-client.ts";
import { answer, type RawServer, startRawServer } from "./raw-server.ts";

let server: RawServer | undefined;
afterEach(() => server?.close());

const body = (code: number, reason: string, message = "no") => JSON.stringify({ code, reason, message, metadata: {} });
const HTML = "<html><head><title>nginx</title></head><body>sorry</body></html>";
const html = { "content-type": "text/html" };

/** What the service (or something in its place) answers to a paid request, and what the caller then knows. */
const TABLE: [name: string, answer: string, kind: ServiceErrorKind, delivery: Delivery][] = [
  ["401", answer(401, body(401, "INVALID_API_KEY")), "Unauthorized", "Refused"],
  ["401 without a body", answer(401, ""), "Unauthorized", "Refused"],
  ["401 as a page", answer(401, HTML, html), "Unauthorized", "Refused"],
  ["403 about the key", answer(403, body(403, "ACCESS_DENIED", "api key disabled")), "Unauthorized", "Refused"],
  ["403 without words", answer(403, "{}"), "Unauthorized", "Refused"],
  ["403 in plain text", answer(403, "Forbidden", { "content-type": "text/plain" }), "Unauthorized", "Refused"],
  ["403 as a firewall's page", answer(403, HTML, html), "GatewayError", "Refused"],
  [
    "403 about something else",
    answer(403, body(403, "MODEL_OFFLINE", "model is offline")),
    "InvalidRequest",
    "Refused",
  ],
  ["403 real name", answer(403, body(403, "NEED_REAL_NAME_VERIFY")), "NotEntitled", "Refused"],
  ["403 in words", answer(403, body(403, "", "enterprise identity verification required")), "NotEntitled", "Refused"],
  ["400 real name", answer(400, body(400, "NEED_REAL_NAME_VERIFY")), "NotEntitled", "Refused"],
  ["404", answer(404, body(404, "NOT_FOUND")), "NotFound", "Refused"],
  ["404 as a page", answer(404, HTML, html), "GatewayError", "Refused"],
  [
    "404 of another server",
    answer(404, "404 page not found", { "content-type": "text/plain" }),
    "GatewayError",
    "Refused",
  ],
  ["400 endpoint not found", answer(400, body(400, "SERVERLESS_ENDPOINT_NOT_FOUND")), "NotFound", "Refused"],
  ["400 resource not found", answer(400, body(400, "RESOURCE_NOT_FOUND")), "NotFound", "Refused"],
  ["500 resource not found", answer(500, body(500, "RESOURCE_NOT_FOUND")), "NotFound", "Refused"],
  ["400", answer(400, body(400, "INVALID_REQUEST", "seed")), "InvalidRequest", "Refused"],
  ["400 in an envelope", answer(400, '{"error":{"code":"x","message":"seed"}}'), "InvalidRequest", "Refused"],
  ["400 balance", answer(400, body(400, "NOT_ENOUGH_BALANCE")), "InsufficientBalance", "Refused"],
  ["403 balance in words", answer(403, body(403, "", "insufficient balance")), "InsufficientBalance", "Refused"],
  ["402", answer(402, "{}"), "InsufficientBalance", "Refused"],
  ["403 quota", answer(403, body(403, "QUOTA_EXCEEDED")), "QuotaExceeded", "Refused"],
  ["400 quota in words", answer(400, body(400, "LIMIT", "you exceeded the quota")), "QuotaExceeded", "Refused"],
  ["429", answer(429, body(429, "RATE_LIMIT_EXCEEDED")), "RateLimited", "Refused"],
  ["429 as a page", answer(429, HTML, html), "RateLimited", "Refused"],
  ["400 rate limit", answer(400, body(400, "RATE_LIMIT_EXCEEDED")), "RateLimited", "Refused"],
  ["500", answer(500, body(500, "INTERNAL")), "ServerError", "Refused"],
  ["503 of the service", answer(503, body(503, "UNAVAILABLE")), "ServerError", "Refused"],
  ["500 empty", answer(500, ""), "GatewayError", "Unknown"],
  ["500 of a gateway in JSON", answer(500, '{"message":"Internal server error"}'), "GatewayError", "Unknown"],
  ["502 page", answer(502, HTML, html), "GatewayError", "Unknown"],
  ["503 page", answer(503, HTML, html), "GatewayError", "Unknown"],
  ["503 text", answer(503, "upstream connect error", { "content-type": "text/plain" }), "GatewayError", "Unknown"],
  ["504 page", answer(504, HTML, html), "GatewayError", "Unknown"],
  ["504 in JSON", answer(504, '{"message":"Endpoint request timed out"}'), "GatewayError", "Unknown"],
  ["408 page", answer(408, HTML, html), "GatewayError", "Unknown"],
  ["302", answer(302, "", { location: "http://127.0.0.1:1/" }), "GatewayError", "Refused"],
  ["200 empty", answer(200, ""), "UnreadableResponse", "Unknown"],
  ["200 garbage", answer(200, "\u0000\u0001"), "UnreadableResponse", "Unknown"],
  ["200 page", answer(200, HTML, html), "UnreadableResponse", "Unknown"],
  ["200 without the task", answer(200, '{"id":"x"}'), "UnreadableResponse", "Unknown"],
  ["200 with an empty task", answer(200, '{"task_id":""}'), "UnreadableResponse", "Unknown"],
  ["200 null", answer(200, "null"), "UnreadableResponse", "Unknown"],
  ["truncated 200", answer(200, '{"task_id":"abcdef"}').slice(0, -6), "ConnectionLost", "Unknown"],
  ["truncated head", "HTTP/1.1 200 OK\r\ncontent-", "ConnectionLost", "Unknown"],
  ["no HTTP at all", "hello\r\n\r\n", "ConnectionLost", "Unknown"],
  ["truncated 429", answer(429, body(429, "RATE_LIMIT_EXCEEDED")).slice(0, -6), "RateLimited", "Refused"],
  ["truncated 500", answer(500, body(500, "INTERNAL")).slice(0, -6), "GatewayError", "Unknown"],
];

describe("what an answer to a paid request means", () => {
  it.each(TABLE)("%s", async (_name, bytes, kind, delivery) => {
    server = await startRawServer((socket) => socket.end(bytes));
    const client = makeClient(server.url);
    const error = await failure(client.submitVideoToVideo({ input: { prompt: "a ship" } }));
    expect({ kind: error.kind, delivery: error.delivery }).toEqual({ kind, delivery });
    expect(server.received).toHaveLength(1);
    expect(client.events).toMatchObject([{ operation: "submitVideoToVideo", errorKind: kind, delivery }]);
    await client.close();
  });
});

describe("the words of a refusal", () => {
  it("are kept, without the key, without control characters, at most 300 characters", async () => {
    const message = `bad\u0007 key ${KEY}\n Authorization: Bearer ${KEY} ${"x".repeat(400)}`;
    server = await startRawServer((socket) => socket.end(answer(400, body(400, "WRONG", message))));
    const client = makeClient(server.url);
    const error = await failure(client.getEndpoint({ endpointID: "e" }));
    expect(error).toMatchObject({ status: 400, code: "400", operation: "getEndpoint" });
    expect(error.reason).toMatch(/^WRONG: bad key \[API key\] Authorization: Bearer \[API key\] x+…$/);
    expect([...(error.reason ?? "")]).toHaveLength(300);
    expect(JSON.stringify([error, error.message, error.stack, String(error.cause)])).not.toContain(KEY);
    await client.close();
  });

  it("do not reach an error through an answer that cannot be parsed", async () => {
    server = await startRawServer((socket) => socket.end(answer(200, `Bearer ${KEY} is {not JSON`)));
    const client = makeClient(server.url);
    const error = await failure(client.getTaskResult({ taskID: "t" }));
    expect(error.kind).toBe("UnreadableResponse");
    expect(`${error.stack}${String(error.cause)}`).not.toContain(KEY);
    await client.close();
  });
});

describe("Retry-After", () => {
  const cases: [header: string, low: number, high: number][] = [
    ["7", 7000, 7000],
    [new Date(Date.now() + 30_000).toUTCString(), 20_000, 31_000],
    [new Date(Date.now() - 30_000).toUTCString(), 0, 0],
  ];
  it.each(cases)("%s", async (header, low, high) => {
    server = await startRawServer((socket) => socket.end(answer(429, "{}", { "retry-after": header })));
    const client = makeClient(server.url);
    const { retryAfterMs } = await failure(client.getTaskResult({ taskID: "t" }));
    expect(retryAfterMs).toBeGreaterThanOrEqual(low);
    expect(retryAfterMs).toBeLessThanOrEqual(high);
    await client.close();
  });

  it.each(["soon", "-5", ""])("%j is nothing", async (header) => {
    server = await startRawServer((socket) => socket.end(answer(429, "{}", { "retry-after": header })));
    const client = makeClient(server.url);
    expect(await failure(client.getTaskResult({ taskID: "t" }))).not.toHaveProperty("retryAfterMs");
    await client.close();
  });
});
