import type { Logger } from "pino";
import type { Storage } from "../artifacts/handle.ts";
import type { Clock } from "../base/clock.ts";
import type { SendWebhook } from "../base/webhook.ts";
import type { KubeClient } from "../kube/client.ts";
import type { ConnectionSettings } from "../provider/session.ts";
import type { Members } from "../runtime/members.ts";
import type { Metrics } from "../runtime/metrics.ts";
import type { Slices } from "../runtime/slices.ts";
import type { SpanSink } from "../tracing/span.ts";
import type { RestoreGuard } from "./restore-guard.ts";

/** What the operator is assembled from. */
export type AssembleOptions = {
  /** That of `restore`. */
  kube: KubeClient;
  restore: RestoreGuard;
  clock: Clock;
  random: () => number;
  /** Makes the IDs of paid requests: UUIDs that no process makes a second time. */
  newID: () => string;
  log: Logger;
  metrics: Metrics;
  /** The processes of the installation, which this one has joined or joins before the operator runs. */
  members: Members;
  /** Namespace of the leases: what an installation is named by. */
  installation: string;
  /** Ends the process: the API server went back in time, or another process has taken an account. */
  end: (error: Error) => void;
  /** Called once, when the first lists of all kinds are stored. */
  onListed?: (() => void) | undefined;
  /** UID of the namespace kube-system. */
  clusterUID: string;
  /** Empty: all. */
  watchNamespaces: readonly string[];
  maxConcurrentReconciles: number;
  /** How long the operator waits for responses to paid requests when it is told to stop, ms. */
  stopDeadlineMs: number;
  allowPrivateNetworks: boolean;
  /** Whether an ArtifactStore without credentials uses the operator's own identity. */
  allowAmbientCredentials: boolean;
  /** Networks that nobody may connect to, in CIDR notation. */
  deniedNetworks: readonly string[];
  /** Folder for the volumes of ArtifactStores; undefined: there is none. */
  artifactRoot?: string | undefined;
  /** Default: buckets, volumes and URLs. */
  storage?: Storage | undefined;
  /** Whether metrics show amounts: those who read them may see what every account and namespace spends. Default false. */
  showsSpending?: boolean | undefined;
  /** Between steps that wait for nothing. Default: none, as in a simulation, whose time stands still. */
  slices?: Slices | undefined;
  /** Where traces go. Default: none are made. */
  traces?: SpanSink | undefined;
  /** Sends callbacks. Default: sockets. */
  sendWebhook?: SendWebhook;
  /** Opens the connections to the remote service. Default: sockets. */
  openService?: ConnectionSettings["open"];
};
