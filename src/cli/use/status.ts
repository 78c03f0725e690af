import { type Command, Option } from "commander";
import { COMMANDS } from "../../api/v1alpha1/commands.ts";
import { KINDS } from "../../api/v1alpha1/kinds.ts";
import { systemClock } from "../../base/clock.ts";
import type { AnyObject } from "../../describe/object-state.ts";
import type { KubeQuery } from "../../kube/client.ts";
import { isForbidden, isNotFound } from "../../kube/errors.ts";
import type { Place, Resource } from "../../kube/resource.ts";
import {
  addClusterOptions,
  type ClusterFlags,
  listPatiently,
  type OpenCluster,
  withCluster,
} from "../account-source.ts";
import { exitCodesHelp } from "../exit-codes.ts";
import { kindOf } from "../object-argument.ts";
import { showsColors } from "../table.ts";
import { FORMATS, type Format, rendered, type ShownObject, shownObject, sorted } from "./status/rows.ts";
import { watchObjects } from "./status/watch.ts";

type StatusFlags = ClusterFlags & {
  allNamespaces?: boolean;
  selector?: string;
  output: Format;
  watch?: boolean;
  stuck?: boolean;
  exitCode?: boolean;
};

const STUCK = 3;
const HELP = `
STATE is the phase of a job, or Ready, NotReady, Reconciling, Suspended, Stalled, Paused or Deleting. Objects that need you
come first. With -o wide, COST is what a job or a report costs, or an endpoint or account in this month, in yuan, and SERVER
is the process of the operator that serves an account. With --watch on a terminal, the table changes in its place, until
Ctrl-C; elsewhere, one line follows for each change.

Examples:
  mooring status                      all objects that you may list
  mooring status speechjobs -l app=audiobook -o wide
  mooring status -n team-a --watch    one namespace, with each change
  mooring status --stuck -o name      what waits for you, for a script

`;

/** `mooring status`: every object of every kind, with what it waits for. */
export function registerStatusCommand(program: Command): void {
  const command = program
    .command("status")
    .description("list all objects of Mooring with their state, those that need you first")
    .argument("[kind...]", "only these kinds, such as speechjobs or gpuep,store");
  addClusterOptions(command, "only this namespace; default: all, or that of the context if you may not list all")
    .addOption(new Option("-A, --all-namespaces", "all namespaces").conflicts("namespace"))
    .option("-l, --selector <selector>", "only objects with these labels, such as app=audiobook,tier!=test")
    .addOption(
      new Option("-o, --output <format>", "table, wide, json, yaml, or name").choices(FORMATS).default("table"),
    )
    .option("-w, --watch", "show each change")
    .option("--stuck", "only objects that need you")
    .option("--exit-code", `exit with ${STUCK} if an object needs you`)
    .addHelpText("after", HELP + exitCodesHelp("status"))
    .action(async (kinds: string[], flags: StatusFlags) => {
      process.exitCode = await run(kinds, flags);
    });
}

async function run(words: readonly string[], flags: StatusFlags): Promise<number> {
  const named = words.flatMap((word) => word.split(",")).map((word) => kindOf(word));
  const kinds = named.length > 0 ? named : KINDS.map(({ resource }) => resource);
  const selector: KubeQuery = flags.selector === undefined ? {} : { labelSelector: flags.selector };
  return withCluster(flags, async (cluster) => {
    const { kube } = cluster;
    if (flags.watch) {
      const probe = { ...selector, limit: 1 };
      const { found, namespace } = await listEach(cluster, kinds, flags, (resource, place) =>
        kube.list(resource, place, { query: probe }),
      );
      await watchObjects(kube, process.stdout, {
        ...{ resources: found.map(({ resource }) => resource), namespace, selector },
        isShown: ({ needsUser }) => needsUser || flags.stuck !== true,
        print: (objects) => textOf(objects, flags),
      });
      return 0;
    }
    const { found } = await listEach(cluster, kinds, flags, (resource, place) =>
      listPatiently<AnyObject>(kube, resource, place.namespace, selector),
    );
    const now = systemClock.now();
    const objects = found.flatMap(({ resource, value }) => value.map((object) => shownObject(resource, object, now)));
    return print(objects, flags);
  });
}

type Listed<T> = { namespace: string | undefined; found: { resource: Resource; value: T }[] };

/** Lists each kind, in the namespace of the context if the user may not list all. What cannot be listed is reported and left out. */
async function listEach<T>(
  { namespace: contextNamespace }: OpenCluster,
  kinds: readonly Resource[],
  flags: StatusFlags,
  list: (resource: Resource, place: Place) => Promise<T>,
): Promise<Listed<T>> {
  const attempt = async (namespace: string | undefined) => {
    const listed = kinds.filter(({ namespaced }) => namespaced || namespace === undefined);
    return Promise.all(
      listed.map(async (resource) => ({
        resource,
        ...(await tried(() => list(resource, resource.namespaced ? { namespace } : {}))),
      })),
    );
  };
  let namespace = flags.namespace;
  let tries = await attempt(namespace);
  const isDenied = tries.some(({ resource, problem }) => resource.namespaced && problem === FORBIDDEN);
  if (isDenied && namespace === undefined && !flags.allNamespaces) {
    namespace = contextNamespace;
    process.stderr.write(`you may not list all namespaces: this is namespace ${namespace}\n`);
    tries = await attempt(namespace);
  }
  for (const [problem, of] of Map.groupBy(tries, (one) => one.problem)) {
    if (problem === undefined) continue;
    process.stderr.write(`warning: ${problem}: ${of.map(({ resource }) => resource.kind).join(", ")}\n`);
  }
  const found = tries.flatMap((one) =>
    one.problem === undefined ? [{ resource: one.resource, value: one.value }] : [],
  );
  return { namespace, found };
}

const FORBIDDEN = "your rights do not let you list";
const NOT_INSTALLED = `not installed (${COMMANDS.installKinds()})`;

async function tried<T>(list: () => Promise<T>): Promise<{ problem: undefined; value: T } | { problem: string }> {
  try {
    return { problem: undefined, value: await list() };
  } catch (error) {
    if (isForbidden(error)) return { problem: FORBIDDEN };
    if (isNotFound(error)) return { problem: NOT_INSTALLED };
    throw error;
  }
}

/** Prints the list and returns the exit code. */
function print(listed: readonly ShownObject[], flags: StatusFlags): number {
  const objects = listed.filter(({ needsUser }) => needsUser || flags.stuck !== true);
  process.stdout.write(textOf(objects, flags));
  return flags.exitCode && objects.some(({ needsUser }) => needsUser) ? STUCK : 0;
}

function textOf(objects: readonly ShownObject[], { output }: StatusFlags): string {
  const printing = { format: output, now: systemClock.now(), colors: showsColors(process.stdout) };
  return rendered(sorted(objects), printing);
}
