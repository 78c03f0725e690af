import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { rangeOf } from "../../../src/provider/endpoints/limits.ts";
import { ServiceError } from "../../../src/provider/errors.ts";
import type { AccountSession, EndpointSpec } from "../../../src/provider/types.ts";
import { type SessionChange, scriptedService, sessionAt } from "../../support/service-account.ts";
import { type Bench, startBench } from "../simulator/start.ts";
import { failure, KEY } from "./http/make-client.ts";

const signal = new AbortController().signal;
const GENERATIONS = ["Current", "Earlier"] as const;
const DELETE = { method: "DELETE", path: "/gpus/v2/endpoints/{id}" } as const;

const chat: EndpointSpec = {
  name: "chat",
  appName: "chat-1",
  products: ["product-1"],
  image: "registry.example.com/chat:1",
  command: "serve",
  registryAuthID: "",
  port: 8080,
  workers: { min: 1, max: 3, idleTimeoutSeconds: 60, maxConcurrency: 4, gpus: 1, requestTimeoutSeconds: 300 },
  policy: { type: "queue", value: 10 },
  rootfsSizeGB: 100,
  volumes: [{ type: "network", id: "net-1", mountPath: "/models" }],
  clusterID: "cluster-1",
  env: [{ name: "MODEL", value: "small", secret: false }],
  healthPath: "/health",
};

let bench: Bench;
beforeEach(async () => {
  bench = await startBench({ bootDelayMs: 0, deleteOperation: DELETE });
});
afterEach(() => bench.close());

function open(change: SessionChange = {}): AccountSession {
  return sessionAt(bench.url, { apiKey: KEY, ...change });
}

describe.each(GENERATIONS)("endpoints, generation %s", (generation) => {
  it("create, read, update and search show the spec", async () => {
    const { endpoints } = open({ generation });
    const { id } = await endpoints.create(chat, { signal });
    expect(await endpoints.read(id, signal)).toMatchObject({
      appName: "chat-1",
      scaling: { min: 1, max: 3, idleTimeout: 60, maxConcurrency: 4, gpus: 1, requestTimeout: 300 },
      ports: [8080],
      envs: [{ key: "MODEL", value: "small" }],
    });
    await endpoints.update(id, { ...chat, workers: { ...chat.workers, max: 5 } }, { signal });
    expect(await endpoints.read(id, signal)).toMatchObject({ scaling: { max: 5 } });
    expect(endpoints.observed.get(id)).toMatchObject({ scaling: { max: 5 } });
  });

  it("read is undefined for an id that the service does not know", async () => {
    expect(await open({ generation }).endpoints.read("nowhere", signal)).toBeUndefined();
  });

  it("a list has all endpoints or those with the keyword, and can be completed", async () => {
    const { endpoints } = open({ generation });
    const { id } = await endpoints.create(chat, { signal });
    await endpoints.create({ ...chat, name: "other", appName: "other-1" }, { signal });
    expect(await endpoints.list("", signal)).toHaveLength(2);
    const found = await endpoints.list("chat", signal);
    expect(found.map((record) => record.id)).toEqual([id]);
    const details = { clusterID: "cluster-1", products: ["product-1"] };
    expect(await endpoints.completeAll(found, signal)).toMatchObject([{ id, details }]);
    for (const record of found) expect(await endpoints.complete(record, "Now", signal)).toMatchObject({ details });
  });

  it("a search finds exactly the app name", async () => {
    const session = open({ generation });
    session.start();
    const { id } = await session.endpoints.create(chat, { signal });
    expect(await session.endpoints.find("chat-1", signal)).toMatchObject([{ id }]);
    expect(await session.endpoints.find("chat", signal)).toEqual([]);
  });

  it("a delete is confirmed by a read", async () => {
    const { endpoints } = open({ generation, deleteOperation: DELETE });
    const { id } = await endpoints.create(chat, { signal });
    await endpoints.delete?.(id, { signal });
    expect(await endpoints.read(id, signal)).toBeUndefined();
  });
});

describe("an endpoint call", () => {
  it("does not show values of Secrets in an error, even when the service quotes them", async () => {
    const service = await scriptedService(({ body }) => ({
      status: 400,
      body: { code: 400, reason: "INVALID_REQUEST_BODY", message: `bad ${JSON.stringify(body)}`.slice(0, 5_000) },
    }));
    const { endpoints } = sessionAt(service.url);
    const spec = { ...chat, env: [{ name: "TOKEN", value: "s3cr3t-value", secret: true }], volumes: [], clusterID: "" };
    for (const call of [endpoints.create(spec, { signal }), endpoints.update("ep-1", spec, { signal })]) {
      const error = await failure(call);
      expect([error.kind, error.delivery]).toEqual(["InvalidRequest", "Refused"]);
      expect(error.message).not.toContain("s3cr3t-value");
    }
  });

  it("is not sent when a check before it throws, and the error is passed on", async () => {
    const error = new Error("not the server");
    const beforeSend = () => {
      throw error;
    };
    await expect(open().endpoints.create(chat, { signal, beforeSend })).rejects.toBe(error);
    expect(await bench.audit()).toEqual([]);
  });

  it("has no delete where the account does not say how", () => {
    expect(open().endpoints.delete).toBeUndefined();
  });

  it("that follows a write ignores a list from before", async () => {
    const session = open();
    session.start();
    const { endpoints } = session;
    const { id } = await endpoints.create(chat, { signal });
    await endpoints.observed.next(signal);
    await endpoints.update(id, { ...chat, command: "other" }, { signal });
    await endpoints.observed.next(signal);
    expect(endpoints.observed.get(id)).toMatchObject({ command: "other" });
  });
});

describe("the probe", () => {
  it("reads the limits by field, and keeps what the service calls them", async () => {
    await bench.configure({ limits: { maxWorkerNum: 2 } });
    const session = open();
    expect(session.endpoints.limits()).toBeUndefined();
    const limits = await session.probe(signal);
    expect(rangeOf(limits, "workers").max).toBe(2);
    expect(limits.maxWorkerNum).toBe(2);
    expect(session.endpoints.limits()).toBe(limits);
  });

  it("that fails keeps the limits that were read before", async () => {
    const session = open();
    const limits = await session.probe(signal);
    await bench.fault({ operation: "getEndpointLimits", kind: "status", status: 500, times: 1 });
    await expect(session.probe(signal)).rejects.toBeInstanceOf(ServiceError);
    expect(session.endpoints.limits()).toBe(limits);
  });
});

describe("speech", () => {
  const request = { text: "Ahoy.", voiceSetting: { voiceID: "v" } };

  /** What a synthesis resolves with, and the bytes that went to the sink. A job that asks for a URL has none. */
  async function synthesize(body: object, outputFormat: "url" | "hex") {
    const service = await scriptedService(() => ({ body }));
    const pieces: Uint8Array[] = [];
    const sink = async (piece: Uint8Array) => void pieces.push(Buffer.from(piece));
    const call = sessionAt(service.url).speech.synthesize(
      { ...request, outputFormat },
      { signal },
      outputFormat === "hex" ? sink : undefined,
    );
    return { call, audio: () => Buffer.concat(pieces).toString("hex") };
  }

  it.each<{ what: string; body: object; outputFormat: "url" | "hex"; expected: object; audio?: string }>([
    {
      what: "a URL",
      body: { audio: "https://files/a.mp3" },
      outputFormat: "url",
      expected: { url: "https://files/a.mp3" },
    },
    { what: "bytes", body: { audio: "00ff" }, outputFormat: "hex", expected: { bytes: 2 }, audio: "00ff" },
    {
      what: "a URL for bytes",
      body: { audio: "http://files/a" },
      outputFormat: "hex",
      expected: { url: "http://files/a" },
    },
    {
      what: "bytes between other fields",
      body: {
        extra: { audio: "11", 'x"': ['{"audio":"22"'] },
        audio: "00fF",
        code: 0,
        note: "audio",
        end: { audio: 1 },
      },
      outputFormat: "hex",
      expected: { bytes: 2 },
      audio: "00ff",
    },
  ])("is $what", async ({ body, outputFormat, expected, audio = "" }) => {
    const result = await synthesize(body, outputFormat);
    expect(await result.call).toEqual(expected);
    expect(result.audio()).toBe(audio);
  });

  it.each<{ what: string; body: object; outputFormat: "url" | "hex" }>([
    { what: "bytes for a URL", body: { audio: "00ff" }, outputFormat: "url" },
    { what: "half a byte", body: { audio: "00f" }, outputFormat: "hex" },
    { what: "no hex", body: { audio: "zz" }, outputFormat: "hex" },
    { what: "hex at first", body: { audio: "00zz" }, outputFormat: "hex" },
    { what: "empty", body: { audio: "" }, outputFormat: "hex" },
    { what: "missing", body: { text: "audio" }, outputFormat: "hex" },
    { what: "a number", body: { audio: 12 }, outputFormat: "hex" },
    { what: "an error", body: { code: 500, message: "no voice" }, outputFormat: "hex" },
  ])("that is $what is unreadable, though the request was accepted", async ({ body, outputFormat }) => {
    const error = await failure((await synthesize(body, outputFormat)).call);
    expect([error.kind, error.delivery]).toEqual(["UnreadableResponse", "Accepted"]);
  });
});

it("a session tells how many calls wait and that no operation is open", () => {
  const { requests } = open();
  expect([requests.waiting(), requests.breakerState("createEndpoint")]).toEqual([0, "Closed"]);
});
