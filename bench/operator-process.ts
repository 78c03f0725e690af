import { freePorts } from "../tools/cluster/ports.ts";
import type { ClusterAccess } from "./cluster.ts";
import { metric } from "./metric.ts";
import { OPERATOR_FLAGS, operatorCommand } from "./pod.ts";
import { heapAfterCollectionMiB, type ProcessUsage, pidOf, usageOf } from "./process-usage.ts";

/** An operator that is measured from outside. */
export type MeasuredOperator = {
  /** `performance.now()` at its start. */
  startedAt: number;
  usage(): Promise<ProcessUsage>;
  /** Its /metrics; undefined while it does not answer. */
  metrics(): Promise<string | undefined>;
  /** Collects garbage, and returns the used heap. From then on the process is slower: its inspector is open. */
  heapAfterCollectionMiB(): Promise<number>;
  /** SIGTERM; returns when it has ended. */
  stop(): Promise<void>;
  /** SIGKILL; returns when it has ended. */
  kill(): Promise<void>;
  /** Gets the last lines of an operator that nobody stopped. Without it, the end of the operator fails the measurement. */
  onEnd(handler: (lastLines: string) => void): void;
};

const STOP_TIMEOUT_MS = 60_000;
const LAST_LINES = 3;

/**
 * @param name of its log, and used once
 * @param flags in addition to those of every measured operator
 */
export async function startOperator(
  cluster: ClusterAccess,
  name: string,
  flags: readonly string[] = [],
): Promise<MeasuredOperator> {
  const { guarded } = cluster;
  const [metricsPort = 0, inspectorPort = 0] = await freePorts(2);
  const { command } = await operatorCommand(cluster, [`--inspect-port=127.0.0.1:${inspectorPort}`]);
  const [file = "", ...args] = command;
  const ended = Promise.withResolvers<void>();
  const startedAt = performance.now();
  const address = `--metrics-bind-address=127.0.0.1:${metricsPort}`;
  await guarded.start(name, file, [...args, ...OPERATOR_FLAGS, address, ...flags]);
  const pid = await pidOf(guarded, name);
  return {
    startedAt,
    usage: () => usageOf(pid),
    metrics: () =>
      fetch(`http://127.0.0.1:${metricsPort}/metrics`).then(
        (response) => response.text(),
        () => undefined,
      ),
    heapAfterCollectionMiB: () => heapAfterCollectionMiB(pid, inspectorPort),
    async stop() {
      guarded.tolerate(name, () => ended.resolve());
      process.kill(pid, "SIGTERM");
      const late = setTimeout(() => ended.reject(new Error(`${name} did not end on SIGTERM`)), STOP_TIMEOUT_MS);
      await ended.promise.finally(() => clearTimeout(late));
    },
    kill: () => guarded.end(name),
    onEnd(handler) {
      guarded.tolerate(name, () => {
        void guarded.output(name).then((text) => handler(text.trimEnd().split("\n").slice(-LAST_LINES).join("\n")));
      });
    },
  };
}

/** What the operator itself counts, since its start. */
export type OperatorCounts = {
  readyEndpoints: number;
  reconciles: number;
  /** Keys that wait for a worker or are being reconciled. */
  busy: number;
  apiRequests: number;
  lagP99Ms: number;
};

export function countsOf(metrics: string): OperatorCounts {
  return {
    readyEndpoints: metric(metrics, "mooring_endpoints", 'state="Ready"'),
    reconciles: metric(metrics, "controller_runtime_reconcile_total"),
    busy: metric(metrics, "workqueue_depth") + metric(metrics, "controller_runtime_active_workers"),
    apiRequests: metric(metrics, "rest_client_requests_total"),
    lagP99Ms: metric(metrics, "nodejs_eventloop_lag_p99_seconds") * 1_000,
  };
}
