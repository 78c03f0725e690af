import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Delivery, ServiceErrorKind } from "../../../src/provider/errors.ts";
import type { FaultInput } from "../../../src/simulator/faults.ts";
import { collect, failure, KEY, makeClient } from "../provider/http/make-client.ts";
import { type Bench, endpointBody, startBench } from "./start.ts";

let bench: Bench;
beforeEach(async () => {
  bench = await startBench({ timeScale: 0 });
});
afterEach(() => bench.close());

const video = { input: { prompt: "a ship" } };
const tasks = async () => JSON.parse((await bench.ask("/__state")).text).tasks.length;

/** Each fault as the client sees it, and whether the task was made all the same. */
const TABLE: [fault: FaultInput, kind: ServiceErrorKind, delivery: Delivery, tasks: number][] = [
  [{ kind: "status", status: 500 }, "ServerError", "Unknown", 0],
  [{ kind: "status", status: 500, after: true }, "ServerError", "Unknown", 1],
  [{ kind: "status", status: 408, after: true }, "ServerError", "Unknown", 1],
  [{ kind: "status", status: 499, after: true }, "ServerError", "Unknown", 1],
  [{ kind: "status", status: 503, body: "busy" }, "GatewayError", "Unknown", 0],
  [{ kind: "status", status: 200, body: "{" }, "UnreadableResponse", "Accepted", 0],
  [{ kind: "status", status: 200, body: {}, after: true }, "UnreadableResponse", "Accepted", 1],
  [{ kind: "resetBefore" }, "ConnectionLost", "Unknown", 0],
  [{ kind: "resetAfter" }, "ConnectionLost", "Unknown", 1],
  [{ kind: "truncate" }, "ConnectionLost", "Accepted", 1],
  [{ kind: "rateLimit", retryAfter: 3 }, "RateLimited", "Refused", 0],
  [{ kind: "rateLimit" }, "RateLimited", "Refused", 0],
  [{ kind: "gatewayPage" }, "GatewayError", "Unknown", 0],
  [{ kind: "gatewayPage", status: 504, after: true }, "GatewayError", "Unknown", 1],
];

describe("a fault", () => {
  it.each(TABLE)("%j", async (fault, kind, delivery, made) => {
    await bench.fault({ operation: "submitVideoToVideo", ...fault });
    expect(await failure(bench.client.submitVideoToVideo(video))).toMatchObject({ kind, delivery });
    expect(await tasks()).toBe(made);
    const [entry] = await bench.audit("?operation=submitVideoToVideo");
    expect(entry?.fault).toBe(fault.kind);
    expect(entry?.effect).toBe(made === 1 ? "TaskSubmitted" : undefined);
    if (kind === "ConnectionLost" && fault.kind !== "truncate") expect(entry?.status).toBeNull();
    // It hits once: the next call is as ever. Another client, for the limiter of this one may be pausing.
    const next = makeClient(bench.url);
    await expect(next.submitVideoToVideo(video)).resolves.toHaveProperty("taskID");
    await next.close();
  });

  it("of latency: an answer too late, after the effect", async () => {
    await bench.fault({ kind: "latency", latencyMs: 5_000, after: true });
    const client = makeClient(bench.url, { requestTimeoutMs: 1_000 });
    expect(await failure(client.submitVideoToVideo(video))).toMatchObject({ kind: "Timeout", delivery: "Unknown" });
    expect(await tasks()).toBe(1);
    await client.close();
  });

  it("of Retry-After pauses the operation for as long", async () => {
    await bench.fault({ kind: "rateLimit", retryAfter: 3 });
    expect((await failure(bench.client.submitVideoToVideo(video))).retryAfterMs).toBe(3000);
  });

  it("breaks a stream after its first chunk", async () => {
    await bench.fault({ operation: "streamSpeech", kind: "truncate" });
    const body = { text: "x".repeat(300), voice_setting: { voice_id: "v" } };
    expect(await failure(collect(bench.client.streamSpeech(body)))).toMatchObject({
      kind: "ConnectionLost",
      delivery: "Accepted",
    });
    expect((await collect(bench.client.streamSpeech(body))).length).toBeGreaterThan(1);
  });

  it("hits its operation only, as often as asked, after those it skips", async () => {
    await bench.fault({ operation: "getEndpointLimits", kind: "status", status: 500, times: 2, skip: 1 });
    const { client } = bench;
    await client.listEndpoints({});
    const outcomes: string[] = [];
    for (let i = 0; i < 5; i++)
      outcomes.push(
        await client.getEndpointLimits().then(
          () => "ok",
          () => "failed",
        ),
      );
    expect(outcomes).toEqual(["ok", "failed", "failed", "ok", "ok"]);
    expect(JSON.parse((await bench.ask("/__faults")).text)).toMatchObject([{ id: 1, hits: 2, kind: "status" }]);
  });

  it("hits only the calls that it matches", async () => {
    await bench.fault({ operation: "submitVideoToVideo", kind: "status", status: 500, times: 9, match: "a storm" });
    await expect(bench.client.submitVideoToVideo(video)).resolves.toHaveProperty("taskID");
    expect(await failure(bench.client.submitVideoToVideo({ input: { prompt: "a storm at sea" } }))).toMatchObject({
      kind: "ServerError",
    });
  });

  it("with a probability hits about that share", async () => {
    await bench.fault({ operation: "*", kind: "status", status: 500, probability: 0.3 });
    const outcomes = await Promise.all(
      Array.from({ length: 300 }, () =>
        bench.client.getEndpointLimits().then(
          () => 0,
          () => 1,
        ),
      ),
    );
    const hits = outcomes.reduce<number>((sum, hit) => sum + hit, 0);
    expect(hits).toBeGreaterThan(60);
    expect(hits).toBeLessThan(120);
    await fetch(`${bench.url}/__faults`, { method: "DELETE" });
    await expect(bench.client.getEndpointLimits()).resolves.toBeDefined();
  });

  it("of an unknown kind or field is refused", async () => {
    expect((await bench.ask("/__faults", { kind: "earthquake" })).status).toBe(400);
    expect((await bench.ask("/__faults", { kind: "truncate", tmies: 2 })).status).toBe(400);
  });
});

describe("the audit log", () => {
  it("has every call with its body and effect, and never the key", async () => {
    const { id } = await bench.client.createEndpoint(endpointBody());
    await bench.ask("/gpus/v2/endpoints?limit=5&keyword=a", undefined, { authorization: "Bearer wrong" });
    await bench.ask("/v3/async/other", {});
    const entries = await bench.audit();
    expect(entries).toMatchObject([
      {
        seq: 1,
        time: "2026-03-04T10:00:00.000Z",
        operation: "createEndpoint",
        method: "POST",
        path: "/gpu-instance/openapi/v1/endpoint/create",
        body: { endpoint: { appName: "chat-1", ports: [{ port: "8080" }] } },
        keyHash: expect.stringMatching(/^[0-9a-f]{12}$/),
        status: 200,
        effect: "EndpointCreated",
        id,
      },
      { seq: 2, operation: "listEndpoints", query: { limit: "5", keyword: "a" }, status: 401 },
      { seq: 3, operation: "unknown", status: 404 },
    ]);
    expect(entries[1]?.keyHash).not.toBe(entries[0]?.keyHash);
    expect(JSON.stringify(entries)).not.toContain(KEY);
    expect(await bench.audit("?since=1&operation=listEndpoints")).toHaveLength(1);
    expect(await bench.audit("?since=2&operation=listEndpoints")).toHaveLength(0);
    await fetch(`${bench.url}/__audit`, { method: "DELETE" });
    expect(await bench.audit()).toEqual([]);
  });
});

describe("the configuration", () => {
  it("changes while it runs: keys are revoked and given", async () => {
    await bench.configure({ apiKeys: ["another"] });
    expect(await failure(bench.client.getEndpointLimits())).toMatchObject({
      kind: "Unauthorized",
      delivery: "Refused",
    });
    await bench.configure({ apiKeys: ["another", KEY] });
    await expect(bench.client.getEndpointLimits()).resolves.toBeDefined();
  });

  it("refuses unknown settings, and keeps the previous ones", async () => {
    expect((await bench.ask("/__config", { bootDelay: 5 })).status).toBe(400);
    expect((await bench.ask("/__config", { bootDelayMs: -5 })).status).toBe(400);
    expect(JSON.parse((await bench.ask("/__config")).text)).toMatchObject({ bootDelayMs: 3000, timeScale: 0 });
  });

  it("may ignore unknown fields of bodies", async () => {
    await bench.configure({ unknownFields: "Ignore" });
    const body = { endpoint: { ...endpointBody({ extra: 1 }), image: { image: "a", tag: "b" } }, more: true };
    expect((await bench.ask("/gpu-instance/openapi/v1/endpoint/create", body)).status).toBe(200);
  });
});
