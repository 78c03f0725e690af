import { readdir, stat } from "node:fs/promises";
import { join, relative } from "node:path";
import { PAID } from "../../faults/paid-calls.ts";
import { hasOpenRecord } from "../../support/open-records.ts";
import type { AnyObject, World } from "../../support/world.ts";
import type { Stage } from "../stage/stage.ts";

const KINDS = ["Account", "ArtifactStore", "BillReport", "GpuEndpoint", "MediaBatch", "SpeechJob", "VideoJob"];
/** ConfigMaps that are not results. */
const INTERNAL = /^(kube-root-ca\.crt|mooring-.*)$/;

/** What depends on time, on the machine, or on how often something was observed. */
const VOLATILE = new Set([
  "duration",
  // Shown when a bill with the price was read before the job ended.
  "estimatedCost",
  "etaSeconds",
  "firstAudioMs",
  // How far the last change is, and the phases that were seen.
  "lastChange",
  "progressPercent",
  "timeline",
  "resourceVersion",
  "uid",
  "managedFields",
  "creationTimestamp",
]);

/** What users see at the end: one line per field, `path: value`, without times and identifiers. */
export type Outcome = {
  lines: string[];
  /** Paid requests that took effect. */
  paid: number;
  /** Endpoints that were created at the service. */
  created: number;
  /** Objects with a request whose outcome they do not show. */
  open: number;
};

/** @param ignores lines that are left out */
export async function readOutcome(world: Stage, storeRoot: string, ignores = /^$/): Promise<Outcome> {
  const lists = await Promise.all(KINDS.map((kind) => world.list(kind)));
  const configMaps = await world.list("ConfigMap");
  const state = await world.state();
  const audit = await world.audit();
  const objects = lists.flat().map((object) => [`${object.kind} ${object.metadata.name}`, shownOf(object)] as const);
  const exported = configMaps.flatMap(({ metadata, ...rest }) =>
    INTERNAL.test(metadata.name) ? [] : [[`ConfigMap ${metadata.name}`, Reflect.get(rest, "data")] as const],
  );
  const remote = {
    endpoints: state.endpoints.map(({ parameters, status, deletedAtMs }) => ({ parameters, status, deletedAtMs })),
    tasks: state.tasks.map(({ type, status }) => ({ type, status })),
  };
  const root = { ...Object.fromEntries([...objects, ...exported]), remote, files: await filesIn(storeRoot) };
  return {
    lines: linesOf(root, world).filter((line) => !ignores.test(line)),
    paid: audit.filter(({ operation, effect }) => PAID.includes(operation) && effect !== undefined).length,
    created: audit.filter(({ effect }) => effect === "EndpointCreated").length,
    open: lists.flat().filter(hasOpenRecord).length,
  };
}

/** One line per value, `path: value`, sorted, without times and identifiers. */
export function linesOf(root: unknown, world: Pick<World, "namespace">): string[] {
  return [...leaves(root, "")].map((line) => withoutIdentifiers(line, world)).sort();
}

function shownOf({ kind, metadata, spec, status }: AnyObject): object {
  const { finalizers, deletionTimestamp } = metadata;
  // The counts and the finalizer of an account follow its objects at intervals.
  if (kind === "Account") return { spec, conditions: status?.conditions };
  return { finalizers, deleted: deletionTimestamp !== undefined, spec, status };
}

/** A file that goes after the folder was read, as the part of a copy does, is none. */
async function filesIn(root: string): Promise<string[]> {
  const all = await readdir(root, { recursive: true, withFileTypes: true });
  const files = all.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name));
  const lines = files.map(async (path) => `${relative(root, path)}: ${(await stat(path)).size} bytes`);
  const read = await Promise.allSettled(lines);
  return read.flatMap((line) => {
    if (line.status === "fulfilled") return line.value;
    if (line.reason.code === "ENOENT") return [];
    throw line.reason;
  });
}

/** Lists are compared without order, except where the order is part of the value. */
function* leaves(value: unknown, path: string): Generator<string> {
  if (value === undefined) return;
  if (Array.isArray(value)) {
    for (const item of value) yield* leaves(item, `${path}[${keyOf(item)}]`);
  } else if (typeof value === "object" && value !== null) {
    for (const [key, item] of Object.entries(value)) if (!VOLATILE.has(key)) yield* leaves(item, `${path}.${key}`);
  } else yield `${path}: ${String(value)}`;
}

function keyOf(item: unknown): string {
  if (typeof item !== "object" || item === null) return "";
  const { type, name, key, kind, field } = Object.fromEntries(Object.entries(item));
  return String(type ?? name ?? key ?? kind ?? field ?? "");
}

const REPLACEMENTS: readonly [RegExp, string][] = [
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, "TIME"],
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "UID"],
  [/http:\/\/127\.0\.0\.1:\d+/g, "URL"],
  [/\/tmp\/mooring-[A-Za-z]+-\w+/g, "ROOT"],
  [/\b[0-9a-f]{10,}\b/g, "ID"],
  [/\b\d+(\.\d+)? ?(ms|s)\b/g, "SPAN"],
];

function withoutIdentifiers(line: string, { namespace }: Pick<World, "namespace">): string {
  return REPLACEMENTS.reduce(
    (text, [pattern, word]) => text.replace(pattern, word),
    line.replaceAll(namespace, "NAMESPACE"),
  );
}

/** The lines that only one of two outcomes has, with `-` for the expected ones. */
export function differences(expected: readonly string[], found: readonly string[]): string[] {
  const left = [...found];
  const missing = expected.filter((line) => {
    const index = left.indexOf(line);
    if (index >= 0) left.splice(index, 1);
    return index < 0;
  });
  return [...missing.map((line) => `- ${line}`), ...left.map((line) => `+ ${line}`)];
}
