import { type Command, Option } from "commander";
import { KINDS } from "../api/v1alpha1/kinds.ts";
import { rfc3339, systemClock } from "../clock.ts";
import type { KubeClient } from "../kube/client.ts";
import { isForbidden, isNotFound } from "../kube/errors.ts";
import type { Resource } from "../kube/resource.ts";
import { createLogger } from "../log.ts";
import { createInformer } from "../runtime/informer.ts";
import { addClusterOptions, type ClusterFlags, lazyCluster, listPatiently } from "./account-source.ts";
import { oneLine } from "./import/yaml.ts";
import { type AnyObject, type ObjectState, objectState } from "./object-state.ts";
import { age, itemsOf, tableOf } from "./table.ts";

const FORMATS = ["table", "wide", "json", "yaml", "name"] as const;
type Flags = ClusterFlags & { output: (typeof FORMATS)[number]; watch?: boolean; stuck?: boolean; exitCode?: boolean };

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

Exit codes: 0 the list is complete; 1 the command failed, the last line says why; ${STUCK} with --exit-code, an object needs you.`;

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
    .addHelpText("after", HELP)
    .action(async (flags: Flags) => {
      process.exitCode = await run(flags);
    });
}

export type ShownObject = ObjectState & { kind: string; namespace: string; name: string; created: string };

async function run(flags: Flags): Promise<number> {
  const cluster = lazyCluster(flags, process.env);
  try {
    const { kube } = await cluster.open();
    const listed = await Promise.all(KINDS.map(({ resource }) => shownObjects(kube, resource, flags.namespace)));
    const objects = sorted(listed.flat().filter(({ needsUser }) => needsUser || flags.stuck !== true));
    process.stdout.write(rendered(objects, flags.output, systemClock.now()));
    if (flags.watch) await watch(kube, flags);
    return flags.exitCode && objects.some(({ needsUser }) => needsUser) ? STUCK : 0;
  } finally {
    await cluster.close();
  }
}

/** A kind that is not installed, or that the user may not list, is reported and left out. */
async function shownObjects(kube: KubeClient, resource: Resource, namespace: string | undefined) {
  if (!resource.namespaced && namespace !== undefined) return [];
  try {
    return (await listPatiently<AnyObject>(kube, resource, namespace)).map((object) => shownObject(resource, object));
  } catch (error) {
    if (!isNotFound(error) && !isForbidden(error)) throw error;
    const why = isNotFound(error) ? "is not installed: mooring apply" : "cannot be listed with your rights";
    process.stderr.write(`warning: ${resource.kind} ${why}\n`);
    return [];
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

export function rendered(objects: readonly ShownObject[], format: Flags["output"], now: number): string {
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

/** Prints each change of a state or reason until the process is interrupted. */
async function watch(kube: KubeClient, { namespace, stuck }: Flags): Promise<void> {
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());
  const log = createLogger({ logLevel: "error", logFormat: "json" });
  const shared = { client: kube, clock: systemClock, random: Math.random, log };
  const namespaces = namespace === undefined ? [] : [namespace];
  const kinds = KINDS.filter(({ resource }) => resource.namespaced || namespace === undefined);
  await Promise.all(
    kinds.map(async ({ resource }) => {
      const informer = createInformer<AnyObject>({ ...shared, resource, namespaces });
      const before = new Map<string, string>();
      informer.onChange((change) => {
        const { uid } = change.object.metadata;
        const object = shownObject(resource, change.object);
        const now = change.type === "Deleted" ? "Deleted" : `${object.state} (${object.reason})`;
        const earlier = before.get(uid);
        before.set(uid, now);
        const initial = change.type === "Added" && change.initial;
        if (initial || earlier === now || (stuck && !object.needsUser)) return;
        process.stdout.write(`${changeLine(object, earlier, now, systemClock.now())}\n`);
      });
      await informer.start(stop.signal);
      await informer.stopped();
    }),
  );
}

function changeLine(object: ShownObject, earlier: string | undefined, state: string, now: number): string {
  const { namespace, kind, name, message } = object;
  const where = `${namespace === "" ? "" : `${namespace} `}${kind}/${name}`;
  const change = earlier === undefined ? state : `${earlier} -> ${state}`;
  return `${rfc3339(now)}   ${where}   ${change}${state === "Deleted" ? "" : `: ${oneLine(message)}`}`;
}
