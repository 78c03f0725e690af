/** Sends spans to a collector with OpenTelemetry's SDK. Only `import()` loads this module: most operators have no collector. */
import { type HrTime, SpanKind, SpanStatusCode, TraceFlags } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { detectResources, envDetector, type Resource, resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter } from "@opentelemetry/sdk-trace";
import type { Logger } from "pino";
import { type Clock, withDeadline } from "../base/clock.ts";
import type { Sanitizer } from "../base/sanitizer.ts";
import type { SpanCounter } from "./metrics.ts";
import type { Attributes, Span, SpanSink } from "./span.ts";

/** Spans that wait for the collector: some megabytes. */
const QUEUE_LENGTH = 8_192;
/** A crash loses what was not sent yet, so a batch does not wait for long. */
const BATCH_DELAY_MS = 1_000;
/** Of an export with its repetitions. */
const EXPORT_TIMEOUT_MS = 5_000;
const REASON_LIMIT = 512;
/** OTLP over HTTP: the path of traces below the endpoint. */
const TRACES_PATH = "v1/traces";

export type OtlpOptions = {
  /** Base URL of the collector, such as https://collector.example.com:4318. */
  endpoint: string;
  /** Of the resource. OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME add to them, and win. */
  resource: Attributes;
  /** Leaves the headers out of the texts of the log. */
  sanitize: Sanitizer;
  spans: SpanCounter;
  clock: Clock;
  log: Logger;
};

/**
 * A bounded queue before the collector. Headers, certificates and compression are from the environment variables of OpenTelemetry
 * (`OTEL_EXPORTER_OTLP_HEADERS` and others).
 * @throws Error for an endpoint that is no URL
 */
export function createOtlpSink(options: OtlpOptions): SpanSink & { close(): Promise<void> } {
  const { endpoint, spans, clock, log } = options;
  const resource = resourceFromAttributes(options.resource).merge(detectResources({ detectors: [envDetector] }));
  const url = new URL(TRACES_PATH, endpoint.endsWith("/") ? endpoint : `${endpoint}/`).href;
  const exporter = new OTLPTraceExporter({ url, timeoutMillis: EXPORT_TIMEOUT_MS });
  const report = createReport(options);
  let waiting = 0;

  const counting: SpanExporter = {
    export(batch, done) {
      waiting -= batch.length;
      exporter.export(batch, (result) => {
        report(batch.length, result.error);
        done(result);
      });
    },
    forceFlush: () => exporter.forceFlush(),
    shutdown: () => exporter.shutdown(),
  };
  const processor = new BatchSpanProcessor({
    exporter: counting,
    maxQueueSize: QUEUE_LENGTH,
    scheduledDelayMillis: BATCH_DELAY_MS,
  });

  return {
    export(trace) {
      // A trace is dropped as a whole: the processor would drop its last spans.
      if (waiting + trace.length > QUEUE_LENGTH) {
        spans.inc({ result: "dropped" }, trace.length);
        return;
      }
      waiting += trace.length;
      for (const span of trace) processor.onEnd(readableSpan(span, resource));
    },
    async close() {
      try {
        await withDeadline(clock, EXPORT_TIMEOUT_MS, (signal) =>
          Promise.race([processor.shutdown(), rejected(signal)]),
        );
      } catch (error) {
        log.warn({ reason: options.sanitize(String(error), REASON_LIMIT) }, "the last traces are not sent");
      }
    },
  };
}

/** Counts spans, and logs when exports begin to fail and when they succeed again. */
function createReport({ sanitize, spans, log }: OtlpOptions): (count: number, error: Error | undefined) => void {
  let failing = false;
  return (count, error) => {
    spans.inc({ result: error === undefined ? "sent" : "failed" }, count);
    if (failing === (error !== undefined)) return;
    failing = error !== undefined;
    if (error === undefined) log.info("the collector accepts traces again");
    else log.warn({ reason: sanitize(error.message, REASON_LIMIT) }, "traces cannot be sent to the collector");
  };
}

function readableSpan(span: Span, resource: Resource): ReadableSpan {
  const { traceID: traceId, spanID: spanId, parentSpanID, startMs, endMs, failure, attributes } = span;
  const context = (id: string) => ({ traceId, spanId: id, traceFlags: TraceFlags.SAMPLED });
  return {
    name: span.name,
    kind: SpanKind.INTERNAL,
    spanContext: () => context(spanId),
    ...(parentSpanID === undefined ? {} : { parentSpanContext: context(parentSpanID) }),
    startTime: hrTime(startMs),
    endTime: hrTime(endMs),
    duration: hrTime(endMs - startMs),
    status: failure === undefined ? { code: SpanStatusCode.UNSET } : { code: SpanStatusCode.ERROR, message: failure },
    attributes,
    links: [],
    events: [],
    ended: true,
    resource,
    instrumentationScope: { name: "mooring" },
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

/** Seconds and nanoseconds. */
function hrTime(ms: number): HrTime {
  return [Math.floor(ms / 1000), (ms % 1000) * 1_000_000];
}

function rejected(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
}
