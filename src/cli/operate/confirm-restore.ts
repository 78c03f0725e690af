import { type Command, Option } from "commander";
import { gpuEndpointResource, JOB_RESOURCES } from "../../api/v1alpha1/kinds.ts";
import { rfc3339 } from "../../base/clock.ts";
import { oneLine } from "../../base/manifest-yaml.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { Resource } from "../../kube/resource.ts";
import { configMapResource } from "../../kube/resource.ts";
import { type KubeObject, keyOf } from "../../kube/types.ts";
import { isBefore, RESTORE_MARKER, type RestoreMark, readRestoreMark } from "../../operator/restore-guard.ts";
import { addClusterOptions, type ClusterFlags, withCluster } from "../account-source.ts";
import { examplesHelp } from "../exit-codes.ts";
import { listAll } from "./cleanup/release-objects.ts";

type RestoreFlags = ClusterFlags & { watchNamespaces: string; dryRun: boolean };

/** `mooring confirm-restore`: shows what waits since a restore of etcd, and lets it be sent. */
export function registerConfirmRestoreCommand(program: Command): void {
  const command = program
    .command("confirm-restore")
    .description(
      "after a restore of etcd: list the jobs and endpoints that were held, and let the operator send their requests",
    );
  addClusterOptions(command, "the namespace of the operator; default: the namespace of the kubeconfig's context")
    .addOption(new Option("--watch-namespaces <list>", "comma-separated namespaces to list; default: all").default(""))
    .option("--dry-run", "only list what would be sent", false)
    .addHelpText(
      "after",
      examplesHelp("confirm-restore", [
        "mooring confirm-restore --namespace mooring-system --dry-run",
        "mooring confirm-restore --namespace mooring-system",
      ]),
    )
    .action(async (flags: RestoreFlags) => {
      const namespaces = flags.watchNamespaces.split(",").filter((name) => name !== "");
      await withCluster(flags, ({ kube, namespace }) =>
        confirmRestore(kube, { namespace, namespaces, dryRun: flags.dryRun, print: console.log }),
      );
    });
}

export type ConfirmOptions = {
  /** Of the operator. */
  namespace: string;
  /** Of the objects that are listed; empty for all. */
  namespaces: readonly string[];
  dryRun: boolean;
  print: (line: string) => void;
};

/** @throws Error when no restore is marked in the namespace */
export async function confirmRestore(kube: KubeClient, options: ConfirmOptions): Promise<void> {
  const { namespace, dryRun, print } = options;
  const mark = await readRestoreMark(kube, namespace);
  if (mark === undefined) {
    throw new Error(
      `no restore of etcd waits for a confirmation: ConfigMap ${namespace}/${RESTORE_MARKER} is not there; name the namespace of the operator with --namespace`,
    );
  }
  const { time, evidence = "" } = mark;
  print(`etcd was restored before ${rfc3339(time)}${evidence === "" ? "" : `: ${oneLine(evidence)}`}`);
  const held = await heldObjects(kube, options.namespaces, mark);
  for (const line of held) print(`  ${line}`);
  const [objects, verb] = [held.length === 1 ? "object" : "objects", dryRun ? "would be" : "may be"];
  if (!dryRun) await kube.delete(configMapResource, { namespace, name: RESTORE_MARKER });
  print(`The requests of ${held.length} ${objects} ${verb} sent${dryRun ? "; nothing was confirmed" : " from now on"}`);
}

type Submitting = KubeObject<
  { suspend?: boolean },
  { phase?: string; taskID?: string; endpointID?: string; submission?: { state?: string } }
>;

/** One line for each object that is held. An endpoint that the service has is found by its app name, and not created. */
async function heldObjects(kube: KubeClient, namespaces: readonly string[], mark: RestoreMark): Promise<string[]> {
  const lines: string[] = [];
  const kinds: [Resource, (object: Submitting) => boolean][] = [
    ...JOB_RESOURCES.map((resource): [Resource, typeof isUnsentJob] => [resource, isUnsentJob]),
    [gpuEndpointResource, ({ status }) => status?.endpointID === undefined],
  ];
  for (const [resource, isHeld] of kinds) {
    for (const namespace of namespaces.length > 0 ? namespaces : [undefined]) {
      for await (const object of listAll<Submitting>(kube, resource, { namespace })) {
        const { creationTimestamp, deletionTimestamp } = object.metadata;
        if (deletionTimestamp !== undefined || !isHeld(object) || !isBefore(mark, object)) continue;
        const suspended = object.spec.suspend === true ? ", suspended" : "";
        lines.push(`${resource.kind} ${keyOf(object)}, created ${creationTimestamp}${suspended}`);
      }
    }
  }
  return lines;
}

function isUnsentJob({ status }: Submitting): boolean {
  return status?.taskID === undefined && (status?.phase === undefined || status.phase === "Pending");
}
