import { afterEach, describe, expect, it } from "vitest";
import type { Delivery, ServiceErrorKind } from "../../../../src/provider/errors.ts";
import { collect, failure, KEY, makeClient, type TestClient } from "./make-client.ts";
import { answer, type RawServer, startRawServer } from "./raw-server.ts";

let server: RawServer | undefined;
afterEach(() => server?.close());

const body = (code: number, reason: string, message = "no") => JSON.stringify({ code, reason, message, metadata: {} });
const HTML = "<html><head><title>nginx</title></head><body>sorry</body></html>";
const UPDATE = {
  workerConfig: { minNum: 0, maxNum: 1, freeTimeout: 60, maxConcurrent: 1, gpuNum: 1, requestTimeout: 60 },
  ports: [{ port: "8000" }],
  policy: { type: "queue" as const, value: 30 },
  image: { image: "registry.example.com/echo:1" },
  healthy: { path: "/health" },
};
const ENDPOINT = { ...UPDATE, products: [{ id: "gpu" }], rootfsSize: 100, volumeMounts: [] };
const html = { "content-type": "text/html" };

/** What the service (or something in its place) answers to a paid request, and what the caller then knows. */
const TABLE: [name: string, answer: string, kind: ServiceErrorKind, delivery: Delivery][] = [
  ["401", answer(401, body(401, "INVALID_API_KEY")), "Unauthorized", "Refused"],
  ["401 without a body", answer(401, ""), "Unauthorized", "Refused"],
  ["401 as a page", answer(401, HTML, html), "Unauthorized", "Refused"],
  ["403 about the key", answer(403, body(403, "ACCESS_DENIED", "api key disabled")), "Forbidden", "Refused"],
  ["403 with a reason about the key", answer(403, body(403, "API_KEY_NOT_ALLOWED")), "Forbidden", "Refused"],
  ["403 without words", answer(403, "{}"), "Forbidden", "Refused"],
  ["403 in plain text", answer(403, "Forbidden", { "content-type": "text/plain" }), "Forbidden", "Unknown"],
  ["403 as a firewall's page", answer(403, HTML, html), "GatewayError", "Unknown"],
  [
    "403 about something else",
    answer(403, body(403, "MODEL_OFFLINE", "model is offline")),
    "InvalidRequest",
    "Refused",
  ],
  ["403 real name", answer(403, body(403, "NEED_REAL_NAME_VERIFY")), "NotEntitled", "Refused"],
  ["403 in words", answer(403, body(403, "", "enterprise identity verification required")), "NotEntitled", "Refused"],
  ["400 real name", answer(400, body(400, "NEED_REAL_NAME_VERIFY")), "NotEntitled", "Refused"],
  ["404", answer(404, body(404, "NOT_FOUND")), "WrongPath", "Refused"],
  ["404 of a gateway in JSON", answer(404, '{"message":"no Route matched"}'), "WrongPath", "Refused"],
  ["404 about the balance", answer(404, body(404, "NOT_ENOUGH_BALANCE")), "InsufficientBalance", "Refused"],
  ["405", answer(405, body(405, "METHOD_NOT_ALLOWED")), "WrongPath", "Refused"],
  ["410", answer(410, body(410, "GONE")), "WrongPath", "Refused"],
  ["404 as a page", answer(404, HTML, html), "GatewayError", "Unknown"],
  [
    "404 of another server",
    answer(404, "404 page not found", { "content-type": "text/plain" }),
    "GatewayError",
    "Unknown",
  ],
  ["400 endpoint not found", answer(400, body(400, "SERVERLESS_ENDPOINT_NOT_FOUND")), "NotFound", "Refused"],
  ["400 resource not found", answer(400, body(400, "RESOURCE_NOT_FOUND")), "NotFound", "Refused"],
  ["500 resource not found", answer(500, body(500, "RESOURCE_NOT_FOUND")), "NotFound", "Unknown"],
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
  ["500", answer(500, body(500, "INTERNAL")), "ServerError", "Unknown"],
  ["503 of the service", answer(503, body(503, "UNAVAILABLE")), "ServerError", "Unknown"],
  ["500 empty", answer(500, ""), "GatewayError", "Unknown"],
  ["500 of a gateway in JSON", answer(500, '{"message":"Internal server error"}'), "GatewayError", "Unknown"],
  ["502 page", answer(502, HTML, html), "GatewayError", "Unknown"],
  ["503 page", answer(503, HTML, html), "GatewayError", "Unknown"],
  ["503 text", answer(503, "upstream connect error", { "content-type": "text/plain" }), "GatewayError", "Unknown"],
  ["504 page", answer(504, HTML, html), "GatewayError", "Unknown"],
  ["504 in JSON", answer(504, '{"message":"Endpoint request timed out"}'), "GatewayError", "Unknown"],
  ["408 of the service", answer(408, body(408, "TIMEOUT")), "ServerError", "Unknown"],
  ["499 of the service", answer(499, body(499, "CLIENT_CLOSED")), "ServerError", "Unknown"],
  ["408 of a gateway in JSON", answer(408, '{"message":"Request timed out"}'), "GatewayError", "Unknown"],
  ["408 empty", answer(408, ""), "GatewayError", "Unknown"],
  ["400 empty", answer(400, ""), "InvalidRequest", "Unknown"],
  ["400 as a page", answer(400, HTML, html), "GatewayError", "Unknown"],
  ["404 empty", answer(404, ""), "WrongPath", "Unknown"],
  ["413 as a page", answer(413, HTML, html), "GatewayError", "Unknown"],
  ["429 of a gateway in JSON", answer(429, '{"message":"API rate limit exceeded"}'), "RateLimited", "Refused"],
  ["429 empty", answer(429, ""), "RateLimited", "Refused"],
  ["418 of the service", answer(418, body(418, "TEAPOT")), "InvalidRequest", "Unknown"],
  ["408 page", answer(408, HTML, html), "GatewayError", "Unknown"],
  ["302", answer(302, "", { location: "http://127.0.0.1:1/" }), "GatewayError", "Unknown"],
  ["303 after a POST", answer(303, "", { location: "/tasks/1" }), "GatewayError", "Unknown"],
  ["307 in the service's own format", answer(307, body(307, "MOVED"), { location: "/x" }), "GatewayError", "Unknown"],
  ["200 empty", answer(200, ""), "UnreadableResponse", "Accepted"],
  ["200 garbage", answer(200, "\u0000\u0001"), "UnreadableResponse", "Accepted"],
  ["200 page", answer(200, HTML, html), "UnreadableResponse", "Accepted"],
  ["200 without the task", answer(200, '{"id":"x"}'), "UnreadableResponse", "Accepted"],
  ["200 with an empty task", answer(200, '{"task_id":""}'), "UnreadableResponse", "Accepted"],
  ["200 with an error", answer(200, body(500, "INTERNAL")), "UnreadableResponse", "Accepted"],
  ["200 null", answer(200, "null"), "UnreadableResponse", "Accepted"],
  ["truncated 200", answer(200, '{"task_id":"abcdef"}').slice(0, -6), "ConnectionLost", "Accepted"],
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

const OWN = (status: number) => body(status, "SOME_REASON");
const statuses = (...list: number[]) => list;
const CALLS: [operation: string, call: (client: TestClient) => Promise<unknown>][] = [
  ["submitSpeech", (client) => client.submitSpeech({ text: "Ahoy.", voice_setting: { voice_id: "v" } })],
  ["synthesizeSpeech", (client) => client.synthesizeSpeech({ text: "Ahoy.", voice_setting: { voice_id: "v" } })],
  ["streamSpeech", (client) => collect(client.streamSpeech({ text: "Ahoy.", voice_setting: { voice_id: "v" } }))],
  ["submitImageToVideo", (client) => client.submitImageToVideo({ prompt: "a", image_url: "https://a.example/b" })],
  ["submitVideoToVideo", (client) => client.submitVideoToVideo({ input: { prompt: "a ship" } })],
  ["createEndpoint", (client) => client.createEndpoint(ENDPOINT)],
  ["updateEndpoint", (client) => client.updateEndpoint({ id: "e-1", ...UPDATE })],
  ["deleteEndpoint", async (client) => client.deleteEndpoint?.({ endpointID: "e-1" })],
];

describe.each(CALLS)("what a status of %s proves", (_operation, call) => {
  it.each([
    ["its own format", OWN, statuses(400, 401, 402, 403, 404, 405, 409, 410, 413, 415, 422, 429), "Refused"],
    ["its own format", OWN, statuses(303, 408, 425, 499, 500, 501, 502, 503, 504, 507, 520, 599), "Unknown"],
    ["a page", () => HTML, statuses(401, 429), "Refused"],
    ["a page", () => HTML, statuses(302, 400, 402, 403, 404, 408, 409, 413, 415, 422, 499, 500, 503), "Unknown"],
    ["no body", () => "", statuses(401, 429), "Refused"],
    ["no body", () => "", statuses(301, 400, 402, 403, 404, 408, 409, 413, 415, 422, 499, 500, 503), "Unknown"],
  ] as const)("with %s (row %#)", async (_form, bodyOf, list, delivery) => {
    for (const status of list) {
      const raw = await startRawServer((socket) => socket.end(answer(status, bodyOf(status))));
      const client = makeClient(raw.url, {}, { method: "DELETE", path: "/endpoints/{id}" });
      const error = await failure(call(client)).finally(() => Promise.all([client.close(), raw.close()]));
      expect({ status, delivery: error.delivery }).toEqual({ status, delivery });
    }
  });
});

describe("a 2xx without a value to read", () => {
  const update = (client: TestClient) => client.updateEndpoint({ id: "e-1", ...UPDATE });
  const remove = async (client: TestClient) => client.deleteEndpoint?.({ endpointID: "e-1" });
  const calls = [
    ["updateEndpoint", update],
    ["deleteEndpoint", remove],
  ] as const;
  const respond = async (call: (client: TestClient) => Promise<unknown>, text: string) => {
    server = await startRawServer((socket) => socket.end(answer(200, text)));
    const client = makeClient(server.url, {}, { method: "DELETE", path: "/endpoints/{id}" });
    return call(client).finally(() => client.close());
  };

  describe.each(calls)("%s", (_operation, call) => {
    it.each([
      ["with a reason", body(500, "INTERNAL_ERROR", "the update failed")],
      ["with a code of its own", '{"code":"E1001","message":"the update failed"}'],
      ["with a code and no words but msg", '{"code":40001,"msg":"the update failed"}'],
      ["in an envelope", '{"error":{"code":"x","message":"the update failed"}}'],
      ["as text", '{"error":"the update failed"}'],
    ])("is no success when it carries an error %s", async (_name, text) => {
      const error = await failure(respond(call, text));
      expect(error).toMatchObject({ kind: "UnreadableResponse", delivery: "Accepted", status: 200 });
      expect(error.message).toContain("the update failed");
    });

    it.each([
      "",
      "{}",
      "ok",
      "null",
      "[]",
      '{"id":"e-1"}',
      '{"code":0,"message":"success"}',
      '{"code":"0","msg":"ok","data":{}}',
      '{"code":200,"reason":"","message":"OK","metadata":{}}',
      '{"code":200,"reason":"SUCCESS","message":"done"}',
      '{"message":"updated"}',
      '{"error":null,"id":"e-1"}',
    ])("is a success with the body %j", async (text) => {
      await expect(respond(call, text)).resolves.toBeUndefined();
    });
  });
});

describe("a 2xx with an error", () => {
  const reads: [operation: string, call: (client: TestClient) => Promise<unknown>][] = [
    ["listEndpoints", (client) => client.listEndpoints({})],
    ["getEndpoint", (client) => client.getEndpoint({ endpointID: "e-1" })],
    ["listEndpointsEarlier", (client) => client.listEndpointsEarlier({ pageSize: 1, pageNum: 1 })],
    ["getEndpointEarlier", (client) => client.getEndpointEarlier({ id: "e-1" })],
    ["getEndpointLimits", (client) => client.getEndpointLimits()],
    ["getTaskResult", (client) => client.getTaskResult({ taskID: "t-1" })],
    ["listBills", (client) => client.listBills({ cycleType: "Day", startTime: 1_767_225_600, endTime: 1_767_312_000 })],
    ["listKeyBudgets", (client) => client.listKeyBudgets({ memberID: "m-1" })],
  ];
  it.each([...CALLS, ...reads])("is no success of %s", async (operation, call) => {
    server = await startRawServer((socket) => socket.end(answer(200, body(500, "INTERNAL_ERROR", "it failed"))));
    const client = makeClient(server.url, {}, { method: "DELETE", path: "/endpoints/{id}" });
    const error = await failure(call(client)).finally(() => client.close());
    // Reads by the app name show whether a create took effect. No read shows that of a paid task.
    const delivery = operation === "createEndpoint" ? "Unknown" : "Accepted";
    expect(error).toMatchObject({ kind: "UnreadableResponse", delivery });
    expect(error.message).toContain("it failed");
  });
});

describe("a 2xx with an error beside an empty value", () => {
  const bills = { cycleType: "Day", startTime: 1_767_225_600, endTime: 1_767_312_000 } as const;
  it.each<[operation: string, empty: object, call: (client: TestClient) => Promise<unknown>]>([
    ["listEndpoints", { data: null }, (client) => client.listEndpoints({})],
    ["listEndpoints", { data: [], next_cursor: "", has_more: false }, (client) => client.listEndpoints({})],
    ["listEndpointsEarlier", { endpoints: null }, (client) => client.listEndpointsEarlier({ pageSize: 1, pageNum: 1 })],
    [
      "listEndpointsEarlier",
      { endpoints: [], total: 0 },
      (client) => client.listEndpointsEarlier({ pageSize: 1, pageNum: 1 }),
    ],
    ["getEndpointEarlier", { endpoint: null }, (client) => client.getEndpointEarlier({ id: "e-1" })],
    ["listBills", { bills: null }, (client) => client.listBills(bills)],
    ["listKeyBudgets", { key_budgets: [] }, (client) => client.listKeyBudgets({ memberID: "m-1" })],
  ])("%s with %j proves no absence", async (_operation, empty, call) => {
    const reported = { code: 500, reason: "INTERNAL_ERROR", message: "it failed", ...empty };
    server = await startRawServer((socket) => socket.end(answer(200, JSON.stringify(reported))));
    const client = makeClient(server.url);
    const error = await failure(call(client)).finally(() => client.close());
    expect(error).toMatchObject({ kind: "UnreadableResponse", delivery: "Accepted" });
    expect(error.message).toContain("it failed");
  });

  it("is a success when it carries what was asked for: a task that runs is not lost", async () => {
    const accepted = { code: 1, message: "queued", task_id: "task-1" };
    server = await startRawServer((socket) => socket.end(answer(200, JSON.stringify(accepted))));
    const client = makeClient(server.url);
    const submitted = await client.submitVideoToVideo({ input: { prompt: "a ship" } }).finally(() => client.close());
    expect(submitted).toEqual({ taskID: "task-1" });
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
  /** In seconds from the request on. */
  const inSeconds = (seconds: number) => () => new Date(Date.now() + seconds * 1000).toUTCString();
  const cases: [header: string | (() => string), low: number, high: number][] = [
    ["7", 7000, 7000],
    [inSeconds(30), 20_000, 31_000],
    [inSeconds(-30), 0, 0],
    ["999999999", 3_600_000, 3_600_000],
    ["Fri, 31 Dec 2999 23:59:59 GMT", 3_600_000, 3_600_000],
    ["9999999999999999999999", 3_600_000, 3_600_000],
  ];
  it.each(cases)("%s", async (header, low, high) => {
    const value = typeof header === "string" ? header : header();
    server = await startRawServer((socket) => socket.end(answer(429, "{}", { "retry-after": value })));
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
