import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { Counter, Registry } from "prom-client";
import { describe, expect, it, onTestFinished } from "vitest";
import { backoffDelay } from "../../../src/runtime/backoff.ts";
import {
  type Checks,
  type HttpServer,
  parseBindAddress,
  serveMetrics,
  serveProbes,
} from "../../../src/runtime/http.ts";

async function serving(
  server: Promise<HttpServer>,
): Promise<(path: string) => Promise<{ status: number; body: string }>> {
  const { port, close } = await server;
  onTestFinished(close);
  return async (path) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`);
    return { status: answer.status, body: await answer.text() };
  };
}

describe("a bind address", () => {
  it.each([
    [":8080", { host: undefined, port: 8080 }],
    ["127.0.0.1:8081", { host: "127.0.0.1", port: 8081 }],
    ["[::1]:9090", { host: "::1", port: 9090 }],
    [":0", { host: undefined, port: 0 }],
    ["0", undefined],
    ["", undefined],
  ])("%s", (text, expected) => {
    expect(parseBindAddress(text)).toEqual(expected);
  });

  it.each(["8080", "localhost", ":65536", ":http", "127.0.0.1"])("is not %s", (text) => {
    expect(() => parseBindAddress(text)).toThrow(
      `bind address "${text}": expected [HOST]:PORT with a port 0-65535, or 0 for off`,
    );
  });
});

describe("probes", () => {
  const lists: Checks[string] = () => {
    throw new Error("waiting for the first list of things");
  };
  const probes = (healthz: Checks, readyz: Checks) => serving(serveProbes("127.0.0.1:0", { healthz, readyz }));

  it.each(["/healthz", "/readyz"])("%s is ok when every check holds", async (path) => {
    const get = await probes({ ping: () => {} }, { lists: async () => {} });
    expect(await get(path)).toEqual({ status: 200, body: "ok" });
  });

  it("names the check that does not hold, and why", async () => {
    const get = await probes({ ping: () => {} }, { lists, ping: () => {} });
    expect(await get("/readyz")).toEqual({
      status: 500,
      body: "[-]lists failed: waiting for the first list of things\n[+]ping ok\nreadyz check failed\n",
    });
    expect((await get("/healthz")).status).toBe(200);
  });

  it("lists each check on request", async () => {
    const get = await probes({ ping: () => {} }, {});
    expect((await get("/healthz?verbose")).body).toBe("[+]ping ok\nhealthz check passed\n");
  });

  it("has a page for each check", async () => {
    const get = await probes({ ping: () => {} }, { lists, ping: () => {} });
    expect(await get("/readyz/ping")).toEqual({ status: 200, body: "ok" });
    expect((await get("/readyz/lists?verbose")).body).toBe(
      "[-]lists failed: waiting for the first list of things\nreadyz check failed\n",
    );
    expect((await get("/healthz/lists")).status).toBe(404);
    expect((await get("/readyz/ping/x")).status).toBe(404);
  });

  it("leaves out what the caller excludes", async () => {
    const get = await probes({}, { lists, ping: () => {} });
    expect(await get("/readyz?exclude=lists&verbose")).toEqual({
      status: 200,
      body: "[+]ping ok\nreadyz check passed\n",
    });
  });

  it("says what a check rejects with", async () => {
    const get = await probes({ ping: () => Promise.reject("gone") }, {});
    expect((await get("/healthz")).body).toContain("[-]ping failed: gone");
  });

  it("has no other pages", async () => {
    const get = await probes({}, {});
    expect((await get("/metrics")).status).toBe(404);
  });
});

describe("metrics", () => {
  it("are served at /metrics alone", async () => {
    const registry = new Registry();
    new Counter({ name: "mooring_things_total", help: "things", registers: [registry] }).inc(3);
    const get = await serving(serveMetrics("127.0.0.1:0", registry));
    expect((await get("/metrics")).body.split("\n")).toContain("mooring_things_total 3");
    expect((await get("/")).status).toBe(404);
  });

  it("are kept from those whom the gate refuses, by what they bring", async () => {
    const server = await serveMetrics("127.0.0.1:0", new Registry(), async (authorization) =>
      authorization === "Bearer good" ? undefined : { status: 401, body: "who?\n" },
    );
    onTestFinished(server.close);
    const url = `http://127.0.0.1:${server.port}/metrics`;
    expect(await (await fetch(url)).text()).toBe("who?\n");
    expect((await fetch(url, { headers: { authorization: "Bearer good" } })).status).toBe(200);
  });
});

describe("a server", () => {
  it("that is off listens nowhere", async () => {
    const server = await serveMetrics("0", new Registry());
    expect(server.port).toBe(0);
    await server.close();
  });

  it("names the address that it cannot bind", async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void taken.close());
    const address = `127.0.0.1:${(taken.address() as AddressInfo).port}`;
    await expect(serveMetrics(address, new Registry())).rejects.toThrow(
      `cannot listen on "${address}": listen EADDRINUSE`,
    );
  });
});

describe("a backoff", () => {
  const options = { baseMs: 500, capMs: 30_000, jitter: 0, random: () => 0.5 };
  it.each([
    [0, 500],
    [1, 500],
    [2, 1_000],
    [5, 8_000],
    [7, 30_000],
    [5_000, 30_000],
  ])("after %i failures is %i ms", (failures, ms) => {
    expect(backoffDelay(failures, options)).toBe(ms);
  });

  it.each([
    [0, 800],
    [0.5, 1_000],
    [1, 1_200],
  ])("is spread by its jitter (random %f)", (random, ms) => {
    expect(backoffDelay(2, { ...options, jitter: 0.4, random: () => random })).toBeCloseTo(ms);
  });
});
