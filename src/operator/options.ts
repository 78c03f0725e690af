import type { Logger } from "pino";
import type { Clock } from "../clock.ts";
import type { KubeClient } from "../kube/client.ts";
import type { ConnectionSettings } from "../provider/session.ts";
import type { LeaderElector } from "../runtime/leader.ts";
import type { Metrics } from "../runtime/metrics.ts";
import type { Journal } from "../submission/journal.ts";

/** What the operator is assembled from. */
export type AssembleOptions = {
  kube: KubeClient;
  clock: Clock;
  random: () => number;
  log: Logger;
  metrics: Metrics;
  journal: Journal;
  elector: LeaderElector | undefined;
  identity: string;
  /** UID of the namespace kube-system. */
  clusterUID: string;
  /** Empty: all. */
  watchNamespaces: readonly string[];
  maxConcurrentReconciles: number;
  allowPrivateNetworks: boolean;
  /** Folder for the volumes of ArtifactStores; undefined: there is none. */
  artifactRoot?: string | undefined;
  /** Opens the connections to the remote service. Default: sockets. */
  openService?: ConnectionSettings["open"];
};
