import { type Command, Option } from "commander";
import { KINDS } from "../../api/v1alpha1/kinds.ts";
import { rfc3339, systemClock } from "../../base/clock.ts";
import { createLogger } from "../../base/log.ts";
import { oneLine } from "../../base/manifest-yaml.ts";
import { type AnyObject, type ObjectState, objectState } from "../../describe/object-state.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isForbidden, isNotFound } from "../../kube/errors.ts";
import type { Resource } from "../../kube/resource.ts";
import { createInformer } from "../../runtime/store.ts";
import { addClusterOptions, type ClusterFlags, lazyCluster, listPatiently } from "../account-source.ts";
import { exitCodesHelp } from "../exit-codes.ts";
import { age, itemsOf, tableOf } from "../table.ts";

const FORMATS = ["table", "wide", "json", "yaml", "name"] as const;
type StatusFlags = ClusterFlags & {
  output: (typeof FORMATS)[number];
  watch?: boolean;
  stuck?: boolean;
  exitCode?: boolean;
};

/** Longest message of a table, in characters; `-o wide` shows all of it. */
const SHORT = 80;
const STUCK = 3;
const HELP = `
STATE is the phase of a job, or Ready, NotReady, Reconciling, Stalled, Paused or Deleting. Objects that need you come first.
With --watch, one line follows for each change, until Ctrl-C.

Examples:
  mooring status                      all objects that you may list
  mooring status -n team-a --watch    one namespace, with each change
  mooring status --stuck -o name      what waits for you, for a script

`;

/** `mooring status`: every object of every kind, with what it waits for. */
export function registerStatusCommand(program: Command): void {
  const command = program
    .command("status")
    .description("list all objects of Mooring with their state, those that need you first");
  addClusterOptions(command, "only this namespace; default: all")
    .addOption(
      new Option("-o, --output <format>", "table, wide, json, yaml, or name").choices(FORMATS).default("table"),
    )
    .option("-w, --watch", "print each change after the list")
    .option("--stuck", "only objects that need you")
    .option("--exit-code", `exit with ${STUCK} if an object needs you`)
    .addHelpText("after", HELP + exitCodesHelp("status"))
    .action(async (flags: StatusFlags) => {
      process.exitCode = await run(flags);
    });
}

export type ShownObject = ObjectState & { kind: string; namespace: string; name: string; created: string };

async function run(flags: StatusFlags): Promise<number> {
  const cluster = lazyCluster(flags, process.env);
  try {
    const { kube } = await cluster.open();
    if (flags.watch) return await watch(kube, flags);
    const listed = await Promise.all(KINDS.map(({ resource }) => shownObjects(kube, resource, flags.namespace)));
    return print(listed.flat(), flags);
  } finally {
    await cluster.close();
  }
}

/** Prints the list and returns the exit code. */
function print(listed: readonly ShownObject[], { stuck, output, exitCode }: StatusFlags): number {
  const objects = sorted(listed.filter(({ needsUser }) => needsUser || stuck !== true));
  process.stdout.write(rendered(objects, output, systemClock.now()));
  return exitCode && objects.some(({ needsUser }) => needsUser) ? STUCK : 0;
}

async function shownObjects(kube: KubeClient, resource: Resource, namespace: string | undefined) {
  if (!resource.namespaced && namespace !== undefined) return [];
  const objects = await listedOrWarned(resource, () => listPatiently<AnyObject>(kube, resource, namespace));
  return (objects ?? []).map((object) => shownObject(resource, object));
}

/** A kind that is not installed, or that the user may not list, is reported and left out. */
async function listedOrWarned<T>({ kind }: Resource, list: () => Promise<T>): Promise<T | undefined> {
  try {
    return await list();
  } catch (error) {
    if (!isNotFound(error) && !isForbidden(error)) throw error;
    const why = isNotFound(error) ? "is not installed: mooring apply" : "cannot be listed with your rights";
    process.stderr.write(`warning: ${kind} ${why}\n`);
    return undefined;
  }
}

export function shownObject({ kind }: Resource, object: AnyObject): ShownObject {
  const { namespace = "", name, creationTimestamp } = object.metadata;
  return { kind, namespace, name, created: creationTimestamp, ...objectState(object) };
}

/** Those that need a user first; then by namespace, in the order of the kinds, by name. */
export function sorted(objects: readonly ShownObject[]): ShownObject[] {
  const order = KINDS.map(({ resource }) => resource.kind);
  return [...objects].sort(
    (a, b) =>
      Number(b.needsUser) - Number(a.needsUser) ||
      a.namespace.localeCompare(b.namespace) ||
      order.indexOf(a.kind) - order.indexOf(b.kind) ||
      a.name.localeCompare(b.name),
  );
}

export function rendered(objects: readonly ShownObject[], format: StatusFlags["output"], now: number): string {
  switch (format) {
    case "json":
    case "yaml":
      return itemsOf(objects, format);
    case "name":
      return objects.map(({ kind, name }) => `${kind.toLowerCase()}.mooring.dev/${name}\n`).join("");
    case "table":
    case "wide":
      return objects.length === 0 ? "no objects\n" : table(objects, format === "wide", now) + summary(objects);
  }
}

function table(objects: readonly ShownObject[], wide: boolean, now: number): string {
  const rows = objects.map(({ namespace, kind, name, state, reason, message, created }) => {
    const text = oneLine(message);
    const shown = wide || text.length <= SHORT ? text : `${text.slice(0, SHORT - 1)}…`;
    return [namespace || "-", `${kind}/${name}`, state, reason, age(now - Date.parse(created)), shown];
  });
  return tableOf(["NAMESPACE", "OBJECT", "STATE", "REASON", "AGE", "MESSAGE"], rows);
}

function summary(objects: readonly ShownObject[]): string {
  const stuck = objects.filter(({ needsUser }) => needsUser);
  const [first] = stuck;
  const count = `${objects.length} ${objects.length === 1 ? "object" : "objects"}`;
  if (first === undefined) return `\n${count}, none needs you\n`;
  const place = first.namespace === "" ? "" : ` -n ${first.namespace}`;
  const need = stuck.length === 1 ? "1 needs you" : `${stuck.length} need you`;
  return `\n${count}, ${need}. Start with: mooring explain ${first.kind.toLowerCase()}/${first.name}${place}\n`;
}

/**
 * Prints the list, then each change of a state or reason until the process is interrupted. The list is the one with which the
 * informers start, so that no change between two lists is lost.
 */
async function watch(kube: KubeClient, flags: StatusFlags): Promise<number> {
  const { namespace, stuck } = flags;
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());
  const log = createLogger({ logLevel: "error", logFormat: "json" });
  const shared = { client: kube, clock: systemClock, random: Math.random, log };
  const namespaces = namespace === undefined ? [] : [namespace];
  const before = new Map<string, string>();
  let listed = false;
  const informers = (await watchable(kube, namespace)).map((resource) => {
    const informer = createInformer<AnyObject>({ ...shared, resource, namespaces });
    informer.onChange((change) => {
      const { uid } = change.object.metadata;
      const object = shownObject(resource, change.object);
      const now = change.type === "Deleted" ? "Deleted" : `${object.state} (${object.reason})`;
      const earlier = before.get(uid);
      before.set(uid, now);
      if (!listed || earlier === now || (stuck && !object.needsUser)) return;
      process.stdout.write(`${changeLine(object, earlier, now, systemClock.now())}\n`);
    });
    return { resource, informer };
  });
  await Promise.all(informers.map(({ informer }) => informer.start(stop.signal)));
  const objects = informers.flatMap(({ resource, informer }) =>
    [...informer.store.list()].map((object) => shownObject(resource, object)),
  );
  listed = true;
  const code = stop.signal.aborted ? 0 : print(objects, flags);
  await Promise.all(informers.map(({ informer }) => informer.stopped()));
  return code;
}

/** The kinds that are installed and that the user may list: one object of each is asked for. */
async function watchable(kube: KubeClient, namespace: string | undefined): Promise<Resource[]> {
  const kinds = KINDS.filter(({ resource }) => resource.namespaced || namespace === undefined);
  const allowed = await Promise.all(
    kinds.map(({ resource }) =>
      listedOrWarned(resource, () => kube.list(resource, { namespace }, { query: { limit: 1 } })),
    ),
  );
  return kinds.flatMap(({ resource }, index) => (allowed[index] === undefined ? [] : [resource]));
}

function changeLine(object: ShownObject, earlier: string | undefined, state: string, now: number): string {
  const { namespace, kind, name, message } = object;
  const where = `${namespace === "" ? "" : `${namespace} `}${kind}/${name}`;
  const change = earlier === undefined ? state : `${earlier} -> ${state}`;
  return `${rfc3339(now)}   ${where}   ${change}${state === "Deleted" ? "" : `: ${oneLine(message)}`}`;
}
