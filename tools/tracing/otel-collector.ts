import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startGuarded } from "../cluster/guarded.ts";
import { freePorts } from "../cluster/ports.ts";
import { waitUntil } from "../cluster/wait-until.ts";
import { tool } from "../programs/tool.ts";

const PROGRAM = "otel-collector";

/** A span as the collector wrote it. Times are ms since the epoch, IDs are in hex. */
export type CollectedSpan = {
  name: string;
  traceID: string;
  spanID: string;
  parentSpanID: string | undefined;
  startMs: number;
  endMs: number;
  attributes: Record<string, string | number>;
  failure: string | undefined;
  /** Attributes of the resource. */
  resource: Record<string, string | number>;
};

export type Collector = {
  /** Its base URL for OTLP over HTTP. */
  endpoint: string;
  /** All that it received so far, in the order of arrival. */
  spans(): Promise<CollectedSpan[]>;
  /** The same, as it wrote it. */
  text(): Promise<string>;
  stop(): Promise<void>;
};

/** Paths of PEM files. */
export type CollectorOptions = { tls?: { certificate: string; key: string } };

/** A real OpenTelemetry Collector that writes what it receives to a file, which goes with it. */
export async function startCollector({ tls }: CollectorOptions = {}): Promise<Collector> {
  const program = await tool("otel-collector");
  const guarded = await startGuarded();
  try {
    const [port = 0] = await freePorts(1);
    const path = join(guarded.dir, "received.jsonl");
    const config = join(guarded.dir, "collector.json");
    await writeFile(path, "");
    const http = {
      endpoint: `127.0.0.1:${port}`,
      ...(tls === undefined ? {} : { tls: { cert_file: tls.certificate, key_file: tls.key } }),
    };
    await writeFile(
      config,
      JSON.stringify({
        receivers: { otlp: { protocols: { http } } },
        exporters: { file: { path, flush_interval: "100ms" } },
        service: {
          telemetry: { metrics: { level: "none" } },
          pipelines: { traces: { receivers: ["otlp"], exporters: ["file"] } },
        },
      }),
    );
    await guarded.start(PROGRAM, program, ["--config", `file:${config}`]);
    const ready = async () => (await guarded.output(PROGRAM)).includes("Everything is ready");
    await waitUntil("the collector is ready", ready, { timeoutMs: 30_000, signal: guarded.failed });
    const text = () => readFile(path, "utf8");
    return {
      endpoint: `${tls === undefined ? "http" : "https"}://127.0.0.1:${port}`,
      spans: async () => spansIn(await text()),
      text,
      stop: guarded.stop,
    };
  } catch (error) {
    const output = await guarded.output(PROGRAM);
    await guarded.stop();
    throw new Error(`the collector did not start: ${String(error)}\n${output.slice(-2000)}`, { cause: error });
  }
}

// What is read here of the JSON of OTLP.
type Value = { stringValue?: string; intValue?: string | number; doubleValue?: number };
type KeyValue = { key: string; value: Value };
type WireSpan = {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes?: KeyValue[];
  status?: { code?: number; message?: string };
};
type Batch = {
  resourceSpans: { resource?: { attributes?: KeyValue[] }; scopeSpans: { spans: WireSpan[] }[] }[];
};

const FAILED = 2;

/** A line that is not complete yet is left out. */
function spansIn(text: string): CollectedSpan[] {
  const lines = text.slice(0, text.lastIndexOf("\n") + 1).split("\n");
  const batches = lines.filter((line) => line !== "").map((line): Batch => JSON.parse(line));
  return batches.flatMap(({ resourceSpans }) =>
    resourceSpans.flatMap(({ resource, scopeSpans }) =>
      scopeSpans.flatMap(({ spans }) => spans.map((span) => collected(span, attributesOf(resource?.attributes)))),
    ),
  );
}

function collected(span: WireSpan, resource: CollectedSpan["resource"]): CollectedSpan {
  const { parentSpanId = "", status = {} } = span;
  return {
    name: span.name,
    traceID: span.traceId,
    spanID: span.spanId,
    parentSpanID: parentSpanId === "" ? undefined : parentSpanId,
    startMs: milliseconds(span.startTimeUnixNano),
    endMs: milliseconds(span.endTimeUnixNano),
    attributes: attributesOf(span.attributes),
    failure: status.code === FAILED ? (status.message ?? "") : undefined,
    resource,
  };
}

function milliseconds(nanoseconds: string): number {
  return Number(BigInt(nanoseconds) / 1_000_000n);
}

function attributesOf(list: readonly KeyValue[] = []): Record<string, string | number> {
  return Object.fromEntries(
    list.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue ?? value.doubleValue)]),
  );
}
