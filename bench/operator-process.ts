import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { freePorts } from "../tools/cluster/ports.ts";
import { waitUntil } from "../tools/cluster/wait-until.ts";
import type { ClusterAccess } from "./cluster.ts";
import { metric } from "./metric.ts";
import { OPERATOR_FLAGS, operatorCommand } from "./pod.ts";

/** CPU time since the start of the process, and its resident memory now and at most. */
export type ProcessUsage = { cpuSeconds: number; residentMiB: number; peakMiB: number };

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
/** Of /proc: sysconf(_SC_CLK_TCK). */
const TICKS_PER_SECOND = 100;

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
  const pid = Number(await readFile(join(guarded.dir, `${name}.pid`), "utf8"));
  return {
    startedAt,
    usage: () => usageOf(pid),
    metrics: () =>
      fetch(`http://127.0.0.1:${metricsPort}/metrics`).then(
        (response) => response.text(),
        () => undefined,
      ),
    heapAfterCollectionMiB: () => collectGarbage(pid, inspectorPort),
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

async function usageOf(pid: number): Promise<ProcessUsage> {
  const [stat, status] = await Promise.all([
    readFile(`/proc/${pid}/stat`, "utf8"),
    readFile(`/proc/${pid}/status`, "utf8"),
  ]);
  // After the command in brackets, which may have spaces.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const mib = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]) / 1024;
  return {
    cpuSeconds: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND,
    residentMiB: mib("VmRSS"),
    peakMiB: mib("VmHWM"),
  };
}

/** Opens the inspector with SIGUSR1, so that it costs nothing before. */
async function collectGarbage(pid: number, port: number): Promise<number> {
  process.kill(pid, "SIGUSR1");
  let address = "";
  await waitUntil(
    "the inspector answers",
    async () => {
      const targets: unknown = await fetch(`http://127.0.0.1:${port}/json/list`).then(
        (response) => response.json(),
        () => [],
      );
      address = /"(ws:[^"]+)"/.exec(JSON.stringify(targets))?.[1] ?? "";
      return address !== "";
    },
    { timeoutMs: 30_000 },
  );
  const inspector = new WebSocket(address);
  try {
    await new Promise((resolve, reject) => {
      inspector.addEventListener("open", resolve);
      inspector.addEventListener("error", () => reject(new Error(`the inspector at ${address} cannot be reached`)));
    });
    const send = (id: number, method: string) =>
      new Promise<string>((resolve) => {
        inspector.addEventListener("message", ({ data }) => {
          if (String(data).startsWith(`{"id":${id},`)) resolve(String(data));
        });
        inspector.send(JSON.stringify({ id, method }));
      });
    await send(1, "HeapProfiler.collectGarbage");
    const answer = await send(2, "Runtime.getHeapUsage");
    return Number(/"usedSize":(\d+)/.exec(answer)?.[1]) / 2 ** 20;
  } finally {
    inspector.close();
  }
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
