import { readFile } from "node:fs/promises";
import type { Command } from "commander";
import { parseAllDocuments } from "yaml";
import { parseDuration } from "../../api/schema/duration.ts";
import { KINDS } from "../../api/v1alpha1/kinds.ts";
import { deadlineSignal, delay, systemClock } from "../../base/clock.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isNotFound, KubeError } from "../../kube/errors.ts";
import { apiVersionOf, type Resource } from "../../kube/resource.ts";
import { type KubeObject, keyOf } from "../../kube/types.ts";
import { addKubeconfigOption, withCluster } from "../account-source.ts";
import { examplesHelp } from "../exit-codes.ts";

/** Owner of the fields in metadata.managedFields. */
const FIELD_MANAGER = "mooring-apply";
/** A kind is served a moment after its CustomResourceDefinition was made. */
const RETRY_MS = 1_000;

type ApplyFlags = { filename: string; kubeconfig?: string; timeout: string };

/** `mooring apply`: run by the chart's Job after an install. */
export function registerApplyCommand(program: Command): void {
  const command = program
    .command("apply")
    .description("create or update objects of Mooring's kinds, as soon as the API server serves these kinds")
    .requiredOption("-f, --filename <file>", "YAML file with the objects");
  addKubeconfigOption(command)
    .option("--timeout <duration>", "how long to wait for the kinds, such as 30s or 5m", "60s")
    .addHelpText("after", examplesHelp("apply", ["mooring apply -f account.yaml --timeout 5m"]))
    .action(async ({ filename, timeout, ...flags }: ApplyFlags) => {
      const objects = parseObjects(await readFile(filename, "utf8"), filename);
      const end = deadlineSignal(parseDuration(timeout));
      await withCluster(flags, async ({ kube }) => {
        for (const parsed of objects) {
          const { metadata } = await applyWhenServed(kube, parsed, end);
          console.log(`${parsed.resource.kind} ${keyOf({ metadata })} applied`);
        }
      });
    });
}

type Parsed = { resource: Resource; object: KubeObject };

/** @throws Error on a document that is no object of Mooring */
function parseObjects(text: string, source: string): Parsed[] {
  return parseAllDocuments(text).map((document) => {
    const [problem] = document.errors;
    if (problem !== undefined) throw new Error(`${source}: ${problem.message}`);
    const object = document.toJS() as Partial<KubeObject> | null;
    const kind = KINDS.find(({ resource }) => resource.kind === object?.kind);
    if (kind === undefined || object?.apiVersion !== apiVersionOf(kind.resource) || !object.metadata?.name) {
      const allowed = KINDS.map(({ resource }) => resource.kind).join(", ");
      throw new Error(
        `${source}: ${object?.apiVersion} ${object?.kind} "${object?.metadata?.name ?? ""}": expected a name, and one of ${allowed} in mooring.dev/v1alpha1`,
      );
    }
    return { resource: kind.resource, object: { ...object, metadata: object.metadata, spec: object.spec } };
  });
}

/** Waits while the kind is not served or the API server does not answer; any other error is final. */
async function applyWhenServed(kube: KubeClient, { resource, object }: Parsed, end: AbortSignal): Promise<KubeObject> {
  const { name } = object.metadata;
  const namespace = resource.namespaced ? (object.metadata.namespace ?? kube.defaultNamespace ?? "default") : undefined;
  for (;;) {
    try {
      return await kube.apply(resource, { namespace, name }, object, { fieldManager: FIELD_MANAGER, signal: end });
    } catch (error) {
      const passing = isNotFound(error) || (error instanceof KubeError && (error.status === 0 || error.status >= 500));
      if (!passing || end.aborted) throw error;
      await delay(systemClock, RETRY_MS, end);
      if (end.aborted) throw error;
    }
  }
}
