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
  leader: Gauge<"name">;
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
 * @param options.shard the label `shard` of every series, default 0. Replicas of a shard have the same one, so that a query can count each
 * shard once: `sum by (…) (max by (…, shard) (…))`
 */
export function createMetrics(options: { process?: boolean; exemplars?: boolean; shard?: number } = {}): Metrics {
  const { exemplars = false, shard = 0 } = options;
  const registry = exemplars ? openMetricsRegistry() : new Registry();
  registry.setDefaultLabels({ shard: String(shard) });
  const registers = [registry];
  if (options.process !== false) collectDefaultMetrics({ register: registry });
  return {
    registry,
    exemplars,
    ...reconcileMetrics(registers),
    ...queueMetrics(registers),
    ...processMetrics(registers),
  };
}

function reconcileMetrics(registers: Registry[]) {
  return {
    reconcileTotal: new Counter({
      name: "controller_runtime_reconcile_total",
      help: "Total number of reconciliations per controller",
      labelNames: ["controller", "result"],
      registers,
    }),
    reconcileErrors: new Counter({
      name: "controller_runtime_reconcile_errors_total",
      help: "Total number of reconciliation errors per controller",
      labelNames: ["controller"],
      registers,
    }),
    reconcilePanics: new Counter({
      name: "controller_runtime_reconcile_panics_total",
      help: "Total number of reconciliation panics (errors that are not typed) per controller",
      labelNames: ["controller"],
      registers,
    }),
    reconcileTime: new Histogram({
      name: "controller_runtime_reconcile_time_seconds",
      help: "Length of time per reconciliation per controller",
      labelNames: ["controller"],
      buckets: SECONDS,
      registers,
    }),
    maxConcurrentReconciles: new Gauge({
      name: "controller_runtime_max_concurrent_reconciles",
      help: "Maximum number of concurrent reconciles per controller",
      labelNames: ["controller"],
      registers,
    }),
    activeWorkers: new Gauge({
      name: "controller_runtime_active_workers",
      help: "Number of currently used workers per controller",
      labelNames: ["controller"],
      registers,
    }),
  };
}

function queueMetrics(registers: Registry[]) {
  return {
    queueDepth: new Gauge({
      name: "workqueue_depth",
      help: "Current depth of workqueue",
      labelNames: ["name"],
      registers,
    }),
    queueAdds: new Counter({
      name: "workqueue_adds_total",
      help: "Total number of adds handled by workqueue",
      labelNames: ["name"],
      registers,
    }),
    queueRetries: new Counter({
      name: "workqueue_retries_total",
      help: "Total number of retries handled by workqueue",
      labelNames: ["name"],
      registers,
    }),
    queueDuration: new Histogram({
      name: "workqueue_queue_duration_seconds",
      help: "How long in seconds an item stays in workqueue before being requested",
      labelNames: ["name"],
      buckets: SECONDS,
      registers,
    }),
    workDuration: new Histogram({
      name: "workqueue_work_duration_seconds",
      help: "How long in seconds processing an item from workqueue takes",
      labelNames: ["name"],
      buckets: SECONDS,
      registers,
    }),
  };
}

function processMetrics(registers: Registry[]) {
  return {
    restRequests: new Counter({
      name: "rest_client_requests_total",
      help: "Number of HTTP requests to the API server, partitioned by status code, method, and host",
      labelNames: ["code", "method", "host"],
      registers,
    }),
    leader: new Gauge({
      name: "leader_election_master_status",
      help: "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master",
      labelNames: ["name"],
      registers,
    }),
    etcdRestored: new Gauge({
      name: "mooring_etcd_restored",
      help: "1 while nothing is sent for objects that are older than a restore of etcd, until mooring confirm-restore; else 0",
      registers,
    }),
  };
}

/**
 * Shares a reading between the gauges of a registry: `read` runs once a scrape, however many gauges ask for its value. A registry
 * collects all its metrics in one go, so the value is kept until the code that runs now has ended.
 */
export function oncePerScrape<T>(read: () => T): () => T {
  let kept: { value: T } | undefined;
  return () => {
    if (kept === undefined) {
      kept = { value: read() };
      queueMicrotask(() => {
        kept = undefined;
      });
    }
    return kept.value;
  };
}
