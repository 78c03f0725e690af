import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Command } from "commander";
import { parseDuration } from "../api/v1alpha1/duration.ts";
import { deadlineSignal, systemClock } from "../clock.ts";
import { createKubeClient, findObject, type KubeClient } from "../kube/client.ts";
import { loadCredentials } from "../kube/credentials.ts";
import { isNotFound } from "../kube/errors.ts";
import type { Resource } from "../kube/resource.ts";
import type { KubeObject } from "../kube/types.ts";
import { createLogger } from "../log.ts";
import { createLeaderElector, leaseResource } from "../runtime/leader.ts";
import { configMapResource } from "../submission/journal.ts";
import { type JournalData, parseEntries } from "../submission/journal-data.ts";
import { journalNames } from "../submission/journal-shards.ts";
import { examplesHelp } from "./exit-codes.ts";
import { JOURNAL_NAME, LEASE_NAME } from "./operator.ts";
import { releaseObjects } from "./release-objects.ts";
import { scaleEndpointsToZero } from "./scale-endpoints.ts";

const deploymentResource: Resource = {
  group: "apps",
  version: "v1",
  plural: "deployments",
  kind: "Deployment",
  namespaced: true,
};

type Flags = {
  kubeconfig?: string;
  leaderElectionNamespace?: string;
  watchNamespaces: string;
  stopDeployment?: string;
  scaleEndpointsToZero: boolean;
  timeout: string;
  dryRun: boolean;
};

/** `mooring cleanup`: nothing hangs when the operator is gone. The chart runs it before an uninstall. */
export function registerCleanupCommand(program: Command): void {
  program
    .command("cleanup")
    .description(
      "remove Mooring's finalizers, so that objects can be deleted without an operator; sends nothing to the service itself",
    )
    .option(
      "--kubeconfig <path>",
      "path of the kubeconfig; default: KUBECONFIG, ~/.kube/config, or the pod's service account",
    )
    .option(
      "--leader-election-namespace <name>",
      "namespace of the operator's lease and journal; default: as for the operator",
    )
    .option("--watch-namespaces <list>", "comma-separated namespaces; default: all", "")
    .option("--stop-deployment <name>", "first scale this Deployment, in the namespace of the lease, to 0")
    .option(
      "--scale-endpoints-to-zero",
      "first suspend every GpuEndpoint (spec.suspend), and wait until the running operator has set its workers to 0/0",
      false,
    )
    .option(
      "--timeout <duration>",
      "how long to wait for the operator to scale endpoints and to stop, such as 30s",
      "60s",
    )
    .option("--dry-run", "only print what the command would do, even while an operator runs", false)
    .addHelpText(
      "after",
      examplesHelp("cleanup", [
        "mooring cleanup --dry-run",
        "mooring cleanup --leader-election-namespace mooring-system --stop-deployment mooring",
      ]),
    )
    .action(async (flags: Flags) => {
      const kube = createKubeClient(await loadCredentials({ kubeconfig: flags.kubeconfig, env: process.env }));
      try {
        await cleanUp(kube, flags);
      } finally {
        await kube.close();
      }
    });
}

async function cleanUp(kube: KubeClient, flags: Flags): Promise<void> {
  const namespace = flags.leaderElectionNamespace ?? kube.defaultNamespace ?? "default";
  const timeout = deadlineSignal(parseDuration(flags.timeout));
  const { dryRun } = flags;
  // Holding the operator's own lease is what keeps an operator from working while finalizers are taken off.
  const elector = createLeaderElector({
    client: kube,
    namespace,
    name: LEASE_NAME,
    identity: `cleanup_${hostname()}_${randomUUID()}`,
    clock: systemClock,
    log: createLogger({ logLevel: "warn", logFormat: "json" }),
  });
  const namespaces = flags.watchNamespaces.split(",").filter((name) => name !== "");
  if (flags.scaleEndpointsToZero) {
    await scaleEndpointsToZero(kube, { clock: systemClock, namespaces, dryRun, timeout, print: console.log });
  }
  if (!dryRun) {
    if (flags.stopDeployment !== undefined) await stopDeployment(kube, namespace, flags.stopDeployment);
    await elector.acquire(timeout).catch((cause: unknown) => {
      throw new Error(
        `an operator still holds the lease ${namespace}/${LEASE_NAME} after ${flags.timeout}: scale it to 0 (kubectl scale deployment --replicas=0) and run this again`,
        { cause },
      );
    });
  }
  let released = 0;
  try {
    for await (const { kind, key, deleting } of releaseObjects(kube, { namespaces, dryRun, signal: elector.lost })) {
      released++;
      const done = dryRun ? "would be taken off" : "taken off";
      console.log(`${kind} ${key}: finalizer ${done}${deleting ? ", its deletion goes on" : ""}`);
    }
    await settleJournal(kube, namespace, dryRun);
  } finally {
    if (!dryRun) await elector.release();
  }
  if (!dryRun) await removeIfThere(kube, leaseResource, namespace, LEASE_NAME);
  console.log(
    `${released} ${released === 1 ? "object" : "objects"} ${dryRun ? "would be " : ""}released; what is at the service stays there as it is`,
  );
}

async function stopDeployment(kube: KubeClient, namespace: string, name: string): Promise<void> {
  try {
    await kube.mergePatch(deploymentResource, { namespace, name, subresource: "scale" }, { spec: { replicas: 0 } });
    console.log(`Deployment ${namespace}/${name}: scaled to 0`);
  } catch (error) {
    if (!isNotFound(error)) throw error;
    console.log(`Deployment ${namespace}/${name}: not there`);
  }
}

type JournalMap = KubeObject & { data?: JournalData };

/** The journal goes unless one of its ConfigMaps is the only trace of something that may have been paid. */
async function settleJournal(kube: KubeClient, namespace: string, dryRun: boolean): Promise<void> {
  const names = journalNames(JOURNAL_NAME);
  const found = await Promise.all(
    names.map((name) => findObject<JournalMap>(kube, configMapResource, { namespace, name })),
  );
  const present = found.flatMap((journal) => journal ?? []);
  const intents = present.flatMap(({ data = {} }) => parseEntries(data));
  for (const { kind, key, operation, time } of intents) {
    console.log(`${kind} ${key}: ${operation} of ${time} has no known outcome; it may have been sent and charged`);
  }
  for (const { metadata } of present) {
    if (intents.length > 0) {
      console.log(`ConfigMap ${namespace}/${metadata.name} stays: an operator that comes back needs it`);
    } else if (!dryRun) {
      await removeIfThere(kube, configMapResource, namespace, metadata.name);
    }
  }
}

async function removeIfThere(kube: KubeClient, resource: Resource, namespace: string, name: string): Promise<void> {
  try {
    await kube.delete(resource, { namespace, name });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
