import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { setFlagsFromString } from "node:v8";
import type { Command } from "commander";
import { LONGEST_REQUEST } from "../../api/v1alpha1/account.ts";
import { systemClock } from "../../base/clock.ts";
import { createLogger, createLogLevel } from "../../base/log.ts";
import { createKubeClient } from "../../kube/client.ts";
import { loadCredentials } from "../../kube/credentials.ts";
import { namespaceResource } from "../../kube/resource.ts";
import { assembleOperator } from "../../operator/assemble.ts";
import {
  flagOf,
  isMetricsGuarded,
  OBJECTS_AT_ONCE,
  type OperatorConfig,
  operatorConfigSchema,
  parseOperatorConfig,
  variableOf,
} from "../../operator/config.ts";
import { createRestoreGuard } from "../../operator/restore-guard.ts";
import { createApiHealth } from "../../runtime/api-health.ts";
import { createDebugPages } from "../../runtime/debug.ts";
import { serveMetrics, serveProbes } from "../../runtime/http.ts";
import { createMembers } from "../../runtime/members.ts";
import { createMetrics } from "../../runtime/metrics.ts";
import { createTokenReviewGate } from "../../runtime/metrics-auth.ts";
import { createSlices } from "../../runtime/slices.ts";
import { examplesHelp } from "../exit-codes.ts";
import { collectFirst, FIRST_COLLECTION_MS } from "./first-collection.ts";
import { LISTED_FLAGS, RUNNING_FLAGS } from "./running-flags.ts";
import { openTraces } from "./traces.ts";

/** How long reconciles and lists may keep timers, probes and responses waiting. A single step may take longer. */
const SLICE_MS = 10;

const HELP: Record<keyof OperatorConfig, string> = {
  kubeconfig: "path of the kubeconfig; default: KUBECONFIG, ~/.kube/config, or the pod's service account",
  metricsBindAddress: "address of /metrics, [HOST]:PORT; 0 turns it off (default :8080)",
  metricsAuth:
    "who may read /metrics: none lets everyone; token-review checks each bearer token with the API server (default none)",
  profiling:
    "serve CPU profiles, heap snapshots and the log level under /debug on the metrics address; needs --metrics-auth token-review or a loopback address (default false)",
  healthProbeBindAddress: "address of /healthz and /readyz, [HOST]:PORT; 0 turns them off (default :8081)",
  operatorNamespace:
    "namespace of the installation: processes with the same one divide the accounts among them by a Lease each; default: that of the pod, else of the kubeconfig's context, else default",
  watchNamespaces: "comma-separated namespaces to watch; default: all",
  maxConcurrentReconciles: `objects of a kind that are reconciled at once, 1-1000 (default ${OBJECTS_AT_ONCE})`,
  stopDeadline: `on SIGTERM, how long the operator waits for responses to paid requests; a request that takes longer ends with an unknown outcome (default ${LONGEST_REQUEST}, the longest requestTimeout of an account)`,
  logLevel: "trace, debug, info, warn, error or fatal (default info)",
  logFormat: "json or pretty (default json)",
  allowPrivateNetworks:
    "allow private addresses for namespaced Accounts, ArtifactStores and result URLs; for development or a store in the cluster (default false)",
  allowAmbientCredentials:
    "let ArtifactStores without credentialsSecretRef use the operator's own cloud identity, at any endpoint that they name (default false)",
  deniedNetworks:
    "comma-separated networks that nobody may connect to, whatever else is allowed, for services, stores and results; the cluster's service network belongs here (default: the metadata services of clouds)",
  artifactRoot: "folder of a mounted volume that holds the files of ArtifactStores with spec.volume; default: none",
  otlpEndpoint:
    "base URL of an OpenTelemetry collector that receives traces of jobs and endpoint changes (OTLP over HTTP); headers: $OTEL_EXPORTER_OTLP_HEADERS; default: no traces",
};
const SWITCHES: readonly string[] = ["profiling", "allowPrivateNetworks", "allowAmbientCredentials"];

/** `mooring operator`: controller-runtime's customary flags, each with an environment variable. */
export function registerOperatorCommand(program: Command): void {
  const command = program
    .command("operator")
    .description("run the operator: watch the cluster and keep the service equal to the objects");
  for (const setting of Object.keys(operatorConfigSchema.shape)) {
    const help = HELP[setting as keyof OperatorConfig];
    const argument = SWITCHES.includes(setting) ? "[boolean]" : "<value>";
    command.option(`${flagOf(setting)} ${argument}`, `${help} [$${variableOf(setting)}]`);
  }
  command.addHelpText(
    "after",
    examplesHelp("operator", [
      "mooring operator --watch-namespaces team-a,team-b",
      "MOORING_OPERATOR_NAMESPACE=mooring-system mooring operator",
    ]),
  );
  command.action(async (flags: Record<string, unknown>) => {
    let config: OperatorConfig;
    try {
      config = parseOperatorConfig(flags, process.env);
    } catch (error) {
      return command.error(error instanceof Error ? error.message : String(error), { exitCode: 2 });
    }
    setFlags(RUNNING_FLAGS);
    setTimeout(collectFirst, FIRST_COLLECTION_MS).unref();
    process.exitCode = await runOperator(config, terminationSignal());
  });
}

function setFlags(flags: readonly string[]): void {
  for (const flag of flags) setFlagsFromString(flag);
}

/** A name for the process and its Lease that no other process has: that of its pod, and a random part. */
function processName(host: string): string {
  const readable = host
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, "-")
    .replace(/^-+/, "")
    .slice(0, 200);
  return `${readable || "mooring"}-${randomUUID().slice(0, 8)}`;
}

/** Aborts on the first SIGTERM or SIGINT; a second one ends the process at once. */
function terminationSignal(): AbortSignal {
  const stop = new AbortController();
  for (const name of ["SIGTERM", "SIGINT"] as const) {
    process.on(name, () => {
      if (stop.signal.aborted) process.exit(130);
      stop.abort(new Error(name));
    });
  }
  return stop.signal;
}

/** Runs until told to stop. Returns the exit code: 1 when its lease was ended or the start failed. */
async function runOperator(config: OperatorConfig, stop: AbortSignal): Promise<number> {
  const level = createLogLevel(config.logLevel);
  const log = createLogger(config, level);
  const metrics = createMetrics({ exemplars: config.otlpEndpoint !== undefined });
  const clock = systemClock;
  const random = Math.random;
  const name = processName(hostname());
  const fenced = new AbortController();
  const end = (error: Error): void => {
    if (!fenced.signal.aborted) log.error({ reason: error.message }, "the operator cannot go on; restarting");
    fenced.abort(error);
  };
  const credentials = await loadCredentials({
    kubeconfig: config.kubeconfig,
    env: process.env,
    onProblem: (reason) => log.warn({ reason }, "credentials not renewed"),
  });
  const host = new URL(credentials.server).host;
  const health = createApiHealth(clock);
  const client = createKubeClient(credentials, {
    onRequest: (request) => {
      health.observe(request);
      metrics.restRequests.inc({ method: request.verb, code: String(request.status), host });
    },
  });
  const namespace = config.operatorNamespace ?? client.defaultNamespace ?? "default";
  const onHold = (held: boolean) => metrics.etcdRestored.set(held ? 1 : 0);
  const restore = createRestoreGuard({ client, namespace, clock, log, onHold, end });
  const { kube } = restore;
  const members = createMembers({ client: kube, namespace, name, clock, log });
  try {
    const clusterUID = await readClusterUID();
    const traces = await openTraces(config.otlpEndpoint, {
      identity: name,
      clusterUID,
      metrics,
      clock,
      log,
      env: process.env,
    });
    const { manager, recorder, servers } = assembleOperator({
      ...config,
      stopDeadlineMs: config.stopDeadline,
      showsSpending: isMetricsGuarded(config),
      kube,
      restore,
      clock,
      random,
      newID: randomUUID,
      log,
      metrics,
      members,
      clusterUID,
      installation: namespace,
      traces,
      slices: createSlices({ maxMs: SLICE_MS }),
      onListed: () => setFlags(LISTED_FLAGS),
      end,
    });
    const probes = await serveProbes(config.healthProbeBindAddress, {
      healthz: { ping: () => undefined },
      readyz: {
        caches: () => manager.ready(),
        watch: health.watch,
        accounts: () => servers.assertUncontested(),
        lease: health.lease,
      },
    });
    const gate = config.metricsAuth === "none" ? undefined : createTokenReviewGate({ client: kube, clock, log });
    const pages = config.profiling ? createDebugPages({ clock, level }) : {};
    const metricsServer = await serveMetrics(config.metricsBindAddress, metrics.registry, gate, pages);
    log.info(
      { server: credentials.server, namespace, probes: probes.port, metrics: metricsServer.port },
      "operator starts",
    );
    try {
      await manager.run(AbortSignal.any([stop, fenced.signal]));
      if (fenced.signal.aborted) throw fenced.signal.reason;
    } finally {
      await Promise.all([recorder.flush(AbortSignal.timeout(2_000)), traces?.close()]);
      await Promise.all([probes.close(), metricsServer.close()]);
    }
    log.info("operator stopped");
    return 0;
  } catch (error) {
    log.fatal({ reason: error instanceof Error ? error.message : String(error) }, "operator ends");
    return 1;
  } finally {
    await kube.close();
  }

  async function readClusterUID(): Promise<string> {
    const system = await kube.get(namespaceResource, { name: "kube-system" }, { signal: stop });
    return system.metadata.uid ?? "";
  }
}
