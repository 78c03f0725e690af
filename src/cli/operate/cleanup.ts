import type { Command } from "commander";
import { parseDuration } from "../../api/schema/duration.ts";
import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import { gpuEndpointResource } from "../../api/v1alpha1/kinds.ts";
import { deadlineSignal, systemClock } from "../../base/clock.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isConflict, isNotFound } from "../../kube/errors.ts";
import type { Resource } from "../../kube/resource.ts";
import { type KubeObject, keyOf } from "../../kube/types.ts";
import { isHeld, LEASE_SELECTOR, type Lease, leaseResource } from "../../runtime/lease.ts";
import { addKubeconfigOption, withCluster } from "../account-source.ts";
import { examplesHelp } from "../exit-codes.ts";
import { excludeOperators, NO_LEASES } from "./cleanup/exclude-operators.ts";
import { findForeignObjects } from "./cleanup/foreign-objects.ts";
import { releaseObjects } from "./cleanup/release-objects.ts";
import { isScaled, scaleEndpointsToZero, stateOf } from "./cleanup/scale-endpoints.ts";

const deploymentResource: Resource = {
  group: "apps",
  version: "v1",
  plural: "deployments",
  kind: "Deployment",
  namespaced: true,
};

type CleanupFlags = {
  kubeconfig?: string;
  operatorNamespace?: string;
  watchNamespaces: string;
  stopDeployment?: string;
  scaleEndpointsToZero: boolean;
  timeout: string;
  dryRun: boolean;
};

/** `mooring cleanup`: nothing hangs when the operator is gone. The chart runs it before an uninstall. */
export function registerCleanupCommand(program: Command): void {
  const command = program
    .command("cleanup")
    .description(
      "remove Mooring's finalizers, so that objects can be deleted without an operator; sends nothing to the service itself",
    );
  addKubeconfigOption(command)
    .option("--operator-namespace <name>", "namespace of the operator; default: as for the operator")
    .option("--watch-namespaces <list>", "comma-separated namespaces; default: all", "")
    .option(
      "--stop-deployment <list>",
      "first scale these Deployments, comma-separated, in the namespace of the operator, to 0",
    )
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
        "mooring cleanup --operator-namespace mooring-system --stop-deployment mooring",
      ]),
    )
    .action(async (flags: CleanupFlags) => {
      await withCluster(flags, ({ kube }) => cleanUp(kube, flags));
    });
}

async function cleanUp(kube: KubeClient, flags: CleanupFlags): Promise<void> {
  const namespace = flags.operatorNamespace ?? kube.defaultNamespace ?? "default";
  const timeout = deadlineSignal(parseDuration(flags.timeout));
  const { dryRun } = flags;
  const namespaces = listOf(flags.watchNamespaces);
  if (flags.scaleEndpointsToZero) {
    const foreign = await findForeignObjects(kube, namespace, namespaces);
    await scaleEndpointsToZero(kube, { clock: systemClock, namespaces, dryRun, foreign, timeout, print: console.log });
  }
  if (!dryRun) for (const name of listOf(flags.stopDeployment ?? "")) await stopDeployment(kube, namespace, name);
  const exclusion = dryRun ? NO_LEASES : await excludeOperators(kube, { namespace, timeout, waited: flags.timeout });
  let released = 0;
  const left: string[] = [];
  try {
    const { signal } = exclusion;
    const foreign = await findForeignObjects(kube, namespace, namespaces);
    const keeps = (resource: Resource, object: KubeObject): string | undefined => {
      const other = foreign(resource, object);
      if (other !== undefined) return `the installation in namespace ${other} serves it`;
      // What changed since the operator scaled it is not confirmed.
      if (!flags.scaleEndpointsToZero || dryRun || resource !== gpuEndpointResource) return undefined;
      const endpoint = object as GpuEndpoint;
      if (isScaled(endpoint)) return undefined;
      left.push(keyOf(endpoint));
      return `it is not scaled to zero: ${stateOf(endpoint)}`;
    };
    for await (const { kind, key, deleting, kept } of releaseObjects(kube, { namespaces, dryRun, signal, keeps })) {
      if (kept !== undefined) {
        console.log(`${kind} ${key}: finalizer stays, ${kept}`);
        continue;
      }
      released++;
      const done = dryRun ? "would be taken off" : "taken off";
      console.log(`${kind} ${key}: finalizer ${done}${deleting ? ", its deletion goes on" : ""}`);
    }
    if (left.length > 0) throw new Error(notReleased(left));
  } finally {
    await exclusion.end();
  }
  if (!dryRun) await removeEndedLeases(kube, namespace);
  console.log(
    `${released} ${released === 1 ? "object" : "objects"} ${dryRun ? "would be " : ""}released; what is at the service stays there as it is`,
  );
}

function notReleased(keys: readonly string[]): string {
  const names = keys.map((key) => `GpuEndpoint ${key}`).join(", ");
  return `not scaled to zero, so the finalizer stays: ${names}: start the operator and run this again, or leave out --scale-endpoints-to-zero`;
}

/** The names of a comma-separated list. */
function listOf(text: string): string[] {
  return text.split(",").filter((name) => name !== "");
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

/** An operator that has started meanwhile keeps its lease. */
async function removeEndedLeases(kube: KubeClient, namespace: string): Promise<void> {
  const query = { labelSelector: LEASE_SELECTOR };
  const { items } = await kube.list<Lease>(leaseResource, { namespace }, { query });
  for (const lease of items) {
    if (isHeld(lease)) continue;
    const { name, uid } = lease.metadata;
    try {
      await kube.delete(leaseResource, { namespace, name }, { body: { preconditions: { uid } } });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }
}
