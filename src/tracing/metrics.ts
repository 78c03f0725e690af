import { Counter, type Registry } from "prom-client";

/** Outcomes of spans. `dropped`: the queue was full, because the collector is too slow or does not answer. */
export type SpanResult = "sent" | "failed" | "dropped";
export type SpanCounter = Counter<"result">;

export function createSpanCounter(registry: Registry): SpanCounter {
  const counter: SpanCounter = new Counter({
    name: "mooring_trace_spans_total",
    help: "Spans by what became of them: sent to the collector, failed (not accepted by it), or dropped because the queue was full. Only with --otlp-endpoint",
    labelNames: ["result"],
    registers: [registry],
  });
  for (const result of ["sent", "failed", "dropped"] as const) counter.inc({ result }, 0);
  return counter;
}
