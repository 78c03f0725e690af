import type { Logger } from "pino";
import packageJson from "../../../package.json" with { type: "json" };
import type { Clock } from "../../base/clock.ts";
import { createSanitizer } from "../../base/sanitizer.ts";
import type { Metrics } from "../../runtime/metrics.ts";
import { createSpanCounter } from "../../tracing/metrics.ts";
import { attributesOf, type SpanSink } from "../../tracing/span.ts";

export type TraceSettings = {
  /** Of this process. */
  identity: string;
  clusterUID: string;
  metrics: Pick<Metrics, "registry">;
  clock: Clock;
  log: Logger;
  env: Readonly<Record<string, string | undefined>>;
};

/** The collector of `--otlp-endpoint`. Loads OpenTelemetry's SDK only if there is one. */
export async function openTraces(
  endpoint: string | undefined,
  { identity, clusterUID, metrics, clock, log, env }: TraceSettings,
): Promise<(SpanSink & { close(): Promise<void> }) | undefined> {
  if (endpoint === undefined) return undefined;
  const { createOtlpSink } = await import("../../tracing/otlp.ts");
  const resource = attributesOf({
    "service.name": "mooring",
    "service.version": packageJson.version,
    "service.instance.id": identity,
    "k8s.cluster.uid": clusterUID,
  });
  const sanitize = createSanitizer({ hidden: HEADERS.flatMap((variable) => headerValues(env[variable])) });
  return createOtlpSink({ endpoint, resource, sanitize, spans: createSpanCounter(metrics.registry), clock, log });
}

const HEADERS = ["OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"];

/** The values in `name=value,name=value`, as they are sent and as they are written. */
function headerValues(headers = ""): string[] {
  return headers.split(",").flatMap((header) => {
    const value = header.slice(header.indexOf("=") + 1).trim();
    return [value, decoded(value)].filter((one) => one !== "");
  });
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value; // sent as it is
  }
}
