import { Readable } from "node:stream";
import { Registry } from "prom-client";
import { describe, expect, it, onTestFinished } from "vitest";
import { createLogLevel } from "../../../src/base/log.ts";
import { createDebugPages } from "../../../src/runtime/debug.ts";
import { type Access, type RequestCheck, serveMetrics } from "../../../src/runtime/http.ts";
import { waitUntil } from "../../../tools/cluster/wait-until.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

async function debugServer(gate?: RequestCheck) {
  const clock = createFakeClock();
  const level = createLogLevel("info");
  // That of the test process is large, and takes as long; metrics-auth.test.ts asks an operator for its own.
  const heapSnapshot = () => Readable.from(['{"snapshot":', '{"meta":{}}}']);
  const pages = createDebugPages({ clock, level, heapSnapshot });
  const server = await serveMetrics("127.0.0.1:0", new Registry(), gate, pages);
  onTestFinished(server.close);
  const ask = async (method: string, path: string, body?: string, signal?: AbortSignal) => {
    const init = { method, ...(body === undefined ? {} : { body }), ...(signal === undefined ? {} : { signal }) };
    const answer = await fetch(`http://127.0.0.1:${server.port}${path}`, init);
    return { status: answer.status, type: answer.headers.get("content-type"), body: await answer.text() };
  };
  return { clock, level, ask };
}

const soon = { timeoutMs: 120_000, intervalMs: 10 };

describe("the log level", () => {
  it("is shown, and changed by a PUT", async () => {
    const { level, ask } = await debugServer();
    expect(await ask("GET", "/debug/flags/v")).toMatchObject({ status: 200, body: "info\n" });
    expect(await ask("PUT", "/debug/flags/v", "debug\n")).toMatchObject({
      status: 200,
      body: "the log level is debug until the operator restarts\n",
    });
    expect(level.get()).toBe("debug");
  });

  it.each([
    { method: "PUT", body: "loud", status: 400, message: 'log level "loud": use one of trace, debug, info' },
    { method: "PUT", body: "toString", status: 400, message: 'log level "toString"' },
    { method: "PUT", body: "x".repeat(2_000), status: 500, message: "at most 1024 bytes" },
    { method: "POST", body: "debug", status: 405, message: "use GET or PUT" },
  ])("stays when $method of $body is refused", async ({ method, body, status, message }) => {
    const { level, ask } = await debugServer();
    const answer = await ask(method, "/debug/flags/v", body);
    expect(answer.status).toBe(status);
    expect(answer.body).toContain(message);
    expect(level.get()).toBe("info");
  });
});

describe("a CPU profile", () => {
  it("is of the time that is asked for, and one at a time", async () => {
    const { clock, ask } = await debugServer();
    const profile = ask("GET", "/debug/pprof/profile?seconds=5");
    await waitUntil("it runs", async () => (await ask("GET", "/debug/pprof/heap")).status === 409, soon);
    await clock.advance(5_000);
    const { status, type, body } = await profile;
    expect({ status, type }).toEqual({ status: 200, type: "application/json" });
    expect(JSON.parse(body)).toMatchObject({ nodes: expect.any(Array), startTime: expect.any(Number) });
  });

  it.each(["0", "301", "x", "-1"])("of %s seconds is refused", async (seconds) => {
    const { ask } = await debugServer();
    expect(await ask("GET", `/debug/pprof/profile?seconds=${seconds}`)).toMatchObject({
      status: 400,
      body: `seconds is "${seconds}": use 1 to 300\n`,
    });
  });

  it("ends with its client, and the next one starts", async () => {
    const { clock, ask } = await debugServer();
    const client = new AbortController();
    const first = ask("GET", "/debug/pprof/profile", undefined, client.signal);
    await waitUntil("it runs", async () => (await ask("GET", "/debug/pprof/heap")).status === 409, soon);
    client.abort();
    await expect(first).rejects.toThrow();
    await waitUntil("it has ended", async () => (await ask("GET", "/debug/pprof/heap")).status === 200, soon);
    expect(clock.now()).toBe(createFakeClock().now());
  });
});

describe("a heap snapshot", () => {
  it("is sent as it is made", async () => {
    const { ask } = await debugServer();
    expect(await ask("GET", "/debug/pprof/heap")).toEqual({
      status: 200,
      type: "application/json",
      body: '{"snapshot":{"meta":{}}}',
    });
  });
});

describe("the pages", () => {
  it("are behind the gate, by path and verb", async () => {
    const asked: Access[] = [];
    const { ask } = await debugServer(async (_authorization, access) => {
      asked.push(access);
      return { status: 403, body: "no\n" };
    });
    for (const [method, path] of [
      ["GET", "/debug/pprof/heap"],
      ["PUT", "/debug/flags/v"],
      ["GET", "/metrics"],
    ] as const) {
      expect((await ask(method, path)).status).toBe(403);
    }
    expect(asked).toEqual([
      { path: "/debug/pprof/heap", verb: "get" },
      { path: "/debug/flags/v", verb: "put" },
      { path: "/metrics", verb: "get" },
    ]);
  });

  it("do not exist without --profiling", async () => {
    const server = await serveMetrics("127.0.0.1:0", new Registry());
    onTestFinished(server.close);
    for (const path of ["/debug/pprof/heap", "/debug/pprof/profile", "/debug/flags/v"]) {
      expect((await fetch(`http://127.0.0.1:${server.port}${path}`)).status).toBe(404);
    }
  });
});
