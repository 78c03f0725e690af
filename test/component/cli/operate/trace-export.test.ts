import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { Registry } from "prom-client";
import { afterEach, expect, it, onTestFinished, vi } from "vitest";
import { systemClock } from "../../../../src/base/clock.ts";
import { createLogger } from "../../../../src/base/log.ts";
import { openTraces } from "../../../../src/cli/operate/traces.ts";
import type { Span } from "../../../../src/tracing/span.ts";
import { eventually } from "../../../support/world.ts";

const HEADER = "canary-header-of-the-collector";
const trace = (length: number): Span[] =>
  Array.from({ length }, (_, index) => ({
    name: "span",
    traceID: "4bf92f3577b34da6a3ce929d0e0e4736",
    spanID: (index + 1).toString(16).padStart(16, "0"),
    parentSpanID: undefined,
    startMs: 1_792_000_000_123,
    endMs: 1_792_000_000_456,
    attributes: {},
  }));

afterEach(() => vi.unstubAllEnvs());

/** The operator's export to an HTTP server that behaves like this. */
async function exportTo(listener: RequestListener) {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    request.resume();
    request.on("end", () => listener(request, response));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  vi.stubEnv("OTEL_EXPORTER_OTLP_HEADERS", `x-api-key=${HEADER}`);
  const lines: string[] = [];
  const log = createLogger({ logLevel: "debug", logFormat: "json" });
  for (const level of ["info", "warn", "error"] as const) {
    vi.spyOn(log, level).mockImplementation((...values: unknown[]) => void lines.push(JSON.stringify(values)));
  }
  const registry = new Registry();
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}/base`;
  const settings = { identity: "pod-1", clusterUID: "uid", metrics: { registry }, clock: systemClock, log };
  const traces = await openTraces(endpoint, { ...settings, env: process.env });
  if (traces === undefined) throw new Error("there is an endpoint");
  const spans = async (result: string) => {
    const metric = await registry.getSingleMetric("mooring_trace_spans_total")?.get();
    return metric?.values.find(({ labels }) => labels["result"] === result)?.value;
  };
  return { traces, requests, lines, spans };
}

it("traces go to the path of OTLP below the endpoint, with the headers of the environment", async () => {
  const { traces, requests, lines, spans } = await exportTo((_, response) => void response.end("{}"));
  traces.export(trace(3));
  traces.export(trace(2));
  await eventually("they are sent", async () => (await spans("sent")) === 5);
  expect(requests.map(({ url, headers }) => [url, headers["x-api-key"]])).toEqual([["/base/v1/traces", HEADER]]);
  await traces.close();
  expect(lines).toEqual([]);
});

it("a collector that fails is logged once, and once more when it works again, without the headers", async () => {
  let fails = true;
  const { traces, lines, spans } = await exportTo((request, response) => {
    if (fails) response.writeHead(400, `no ${request.headers["x-api-key"]} here`);
    response.end("{}");
  });
  for (let round = 1; round <= 2; round++) {
    traces.export(trace(4));
    await eventually("it failed", async () => (await spans("failed")) === 4 * round);
  }
  fails = false;
  traces.export(trace(4));
  await eventually("it is sent", async () => (await spans("sent")) === 4);
  await traces.close();
  expect(lines).toEqual([
    '[{"reason":"no (hidden) here"},"traces cannot be sent to the collector"]',
    '["the collector accepts traces again"]',
  ]);
});

it("a collector that does not answer fills a bounded queue with whole traces, and delays the end by seconds", async () => {
  const { traces, spans } = await exportTo(() => undefined);
  const began = performance.now();
  for (let count = 0; count < 2_000; count++) traces.export(trace(6));
  expect(performance.now() - began).toBeLessThan(5_000);
  const dropped = (await spans("dropped")) ?? 0;
  expect(dropped).toBeGreaterThan(2_000);
  expect(dropped % 6).toBe(0);
  const closing = performance.now();
  await traces.close();
  expect(performance.now() - closing).toBeLessThan(15_000);
});
