import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

/** The metrics of the engine, under controller-runtime's names, so that existing dashboards and alerts work. */
export type Metrics = {
  readonly registry: Registry;
  /** Whether metrics may have exemplars. */
  readonly exemplars: boolean;
  reconcileTotal: Counter<"controller" | "result">;
  reconcileErrors: Counter<"controller">;
  reconcilePanics: Counter<"controller">;
  reconcileTime: Histogram<"controller">;
  maxConcurrentReconciles: Gauge<"controller">;
  activeWorkers: Gauge<"controller">;
  queueDepth: Gauge<"name">;
  queueAdds: Counter<"name">;
  queueRetries: Counter<"name">;
  queueDuration: Histogram<"name">;
  workDuration: Histogram<"name">;
  restRequests: Counter<"code" | "method" | "host">;
  etcdRestored: Gauge;
};

const SECONDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Its type says that it serves another content type than that of Prometheus; both have the same methods. */
function openMetricsRegistry(): Registry {
  const registry = new Registry();
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE as never);
  return registry;
}

/**
 * @param options.process metrics of Node and of the operating system's process, default true; they sample with timers
 * @param options.exemplars serve the OpenMetrics format, which has exemplars; default false: the text format of Prometheus
 */
export function createMetrics(options: { process?: boolean; exemplars?: boolean } = {}): Metrics {
  const { exemplars = false } = options;
  const registry = exemplars ? openMetricsRegistry() : new Registry();
  if (options.process !== false) collectDefaultMetrics({ register: registry });
  const of = <L extends string>(name: string, help: string, ...labelNames: L[]) => ({
    name,
    help,
    labelNames,
    registers: [registry],
  });
  const total = "Total number of";
  return {
    registry,
    exemplars,
    reconcileTotal: new Counter(
      of("controller_runtime_reconcile_total", `${total} reconciliations per controller`, "controller", "result"),
    ),
    reconcileErrors: new Counter(
      of("controller_runtime_reconcile_errors_total", `${total} reconciliation errors per controller`, "controller"),
    ),
    reconcilePanics: new Counter(
      of(
        "controller_runtime_reconcile_panics_total",
        `${total} reconciliation panics (errors that are not typed) per controller`,
        "controller",
      ),
    ),
    reconcileTime: new Histogram({
      ...of(
        "controller_runtime_reconcile_time_seconds",
        "Length of time per reconciliation per controller",
        "controller",
      ),
      buckets: SECONDS,
    }),
    maxConcurrentReconciles: new Gauge(
      of(
        "controller_runtime_max_concurrent_reconciles",
        "Maximum number of concurrent reconciles per controller",
        "controller",
      ),
    ),
    activeWorkers: new Gauge(
      of("controller_runtime_active_workers", "Number of currently used workers per controller", "controller"),
    ),
    queueDepth: new Gauge(of("workqueue_depth", "Current depth of workqueue", "name")),
    queueAdds: new Counter(of("workqueue_adds_total", `${total} adds handled by workqueue`, "name")),
    queueRetries: new Counter(of("workqueue_retries_total", `${total} retries handled by workqueue`, "name")),
    queueDuration: new Histogram({
      ...of(
        "workqueue_queue_duration_seconds",
        "How long in seconds an item stays in workqueue before being requested",
        "name",
      ),
      buckets: SECONDS,
    }),
    workDuration: new Histogram({
      ...of("workqueue_work_duration_seconds", "How long in seconds processing an item from workqueue takes", "name"),
      buckets: SECONDS,
    }),
    restRequests: new Counter(
      of(
        "rest_client_requests_total",
        "Number of HTTP requests to the API server, partitioned by status code, method, and host",
        ...(["code", "method", "host"] as const),
      ),
    ),
    etcdRestored: new Gauge(
      of(
        "mooring_etcd_restored",
        "1 while nothing is sent for objects that are older than a restore of etcd, until mooring confirm-restore; else 0",
      ),
    ),
  };
}
