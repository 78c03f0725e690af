import type { Logger } from "pino";
import type { Storage } from "../../../src/artifacts/handle.ts";
import { createKubeClient } from "../../../src/kube/client.ts";
import { assembleOperator } from "../../../src/operator/assemble.ts";
import { createRestoreGuard } from "../../../src/operator/restore-guard.ts";
import { createMembers } from "../../../src/runtime/members.ts";
import { createMetrics, type Metrics } from "../../../src/runtime/metrics.ts";
import { anonymous } from "../../../tools/cluster/credentials.ts";
import { createProcessTime, type ProcessTime } from "../engine/process-clock.ts";
import type { Scheduler } from "../engine/scheduler.ts";
import { createUuids } from "../engine/uuids.ts";
import { type ApiConnections, type ApiNetwork, createApiConnections } from "../network/api-connections.ts";
import { ServiceDispatcher, type ServiceNetwork } from "../network/service-dispatcher.ts";

export const OPERATOR_NAMESPACE = "mooring";
export const CLUSTER_UID = "11111111-2222-3333-4444-555555555555";

export type ProcessOptions = {
  identity: string;
  scheduler: Scheduler;
  /** By how much the wall clock of its machine is ahead, ms. */
  skewMs: number;
  log: Logger;
  /** Folder for the volumes of ArtifactStores. Default: there is none. */
  artifactRoot?: string;
  api: (process: ProcessTime) => ApiNetwork;
  /** The service is at each origin, unless this says something else. */
  service: (process: ProcessTime, origin: string) => ServiceNetwork;
  /** Default: buckets and volumes. */
  storage?: (process: ProcessTime) => Storage;
  /** Default: metrics that nobody reads. */
  metrics?: Metrics;
  /** The first lists are stored. */
  onListed?: () => void;
  /** It ended by itself: it lost the lease, or it was told to stop. */
  onExit: (reason: string) => void;
};

/** One process of the operator, put together as `mooring operator` does. */
export type OperatorProcess = {
  identity: string;
  time: ProcessTime;
  connections: ApiConnections;
  /** The accounts that it believes to serve. */
  serves(account: string): boolean;
  /** SIGTERM. */
  stop(): void;
  /** SIGKILL: nothing that it was about to do happens. */
  kill(): void;
  /** Ends what a dead process waits for, when the simulation is over, so that nothing of it stays in memory. */
  discard(): void;
};

const REQUEST_TIMEOUT_MS = 30_000;
const STOP_DEADLINE_MS = 20_000;

export function startProcess(options: ProcessOptions): OperatorProcess {
  const { identity, scheduler, log } = options;
  const time = createProcessTime(scheduler, options.skewMs);
  const { clock } = time;
  const sequence = scheduler.random(`process ${identity}`);
  const random = () => sequence.next();
  const connections = createApiConnections(options.api(time), time, REQUEST_TIMEOUT_MS);
  const client = createKubeClient(anonymous("http://api.invalid"), {
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
    connect: () => connections,
  });
  const fenced = new AbortController();
  const stop = new AbortController();
  const end = (error: Error) => fenced.abort(error);
  const restore = createRestoreGuard({ client, namespace: OPERATOR_NAMESPACE, clock, log, end });
  const { kube } = restore;
  const members = createMembers({ client: kube, namespace: OPERATOR_NAMESPACE, name: identity, clock, log });
  const { manager, recorder, servers } = assembleOperator({
    kube,
    restore,
    clock,
    random,
    newID: createUuids(scheduler.random(`ids ${identity}`)),
    log,
    metrics: options.metrics ?? createMetrics({ process: false }),
    members,
    installation: OPERATOR_NAMESPACE,
    end,
    onListed: options.onListed,
    clusterUID: CLUSTER_UID,
    watchNamespaces: [],
    maxConcurrentReconciles: 8,
    stopDeadlineMs: STOP_DEADLINE_MS,
    allowPrivateNetworks: true,
    allowAmbientCredentials: false,
    showsSpending: true,
    deniedNetworks: [],
    artifactRoot: options.artifactRoot,
    openService: (origin) => new ServiceDispatcher(options.service(time, origin), time),
    storage: options.storage?.(time),
  });

  async function run(): Promise<string> {
    try {
      await manager.run(AbortSignal.any([stop.signal, fenced.signal]));
      await recorder.flush(AbortSignal.abort());
      return fenced.signal.aborted ? "fenced" : "stopped";
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    } finally {
      await kube.close();
    }
  }

  void run().then((reason) => {
    if (!time.alive()) return;
    time.die();
    options.onExit(reason);
  });

  return {
    identity,
    time,
    connections,
    serves: (account) => servers.serves(account) && members.surelyHeld(),
    stop: () => time.deliver(() => stop.abort(new Error("SIGTERM"))),
    kill() {
      time.die();
      connections.drop();
    },
    discard: () => stop.abort(),
  };
}
