import { styleText } from "node:util";
import { KINDS } from "../../../api/v1alpha1/kinds.ts";
import { oneLine } from "../../../base/manifest-yaml.ts";
import { type Cost, costOf, durationText, type Progress, progressOf } from "../../../describe/facts.ts";
import { type AnyObject, type ObjectState, objectState, type Tone, toneOf } from "../../../describe/object-state.ts";
import type { Resource } from "../../../kube/resource.ts";
import { age, itemsOf, tableOf } from "../../table.ts";

export const FORMATS = ["table", "wide", "json", "yaml", "name"] as const;
export type Format = (typeof FORMATS)[number];

/** One object of the list, as -o json prints it. */
export type ShownObject = ObjectState & {
  kind: string;
  namespace: string;
  name: string;
  created: string;
  progress: Progress;
  cost?: Cost;
  /** `KIND/NAME` of the account that a job or endpoint is bound to. */
  account?: string;
  /** What the service calls it: the task of a job, or the endpoint. */
  remoteID?: string;
};

/** `now`: ms since the epoch. */
export function shownObject({ kind }: Resource, object: AnyObject, now: number): ShownObject {
  const { namespace = "", name, creationTimestamp } = object.metadata;
  const { account, taskID, endpointID } = object.status ?? {};
  const cost = costOf(object);
  const remoteID = taskID ?? endpointID;
  return {
    kind,
    namespace,
    name,
    created: creationTimestamp,
    ...objectState(object),
    progress: progressOf(object, now),
    ...(cost === undefined ? {} : { cost }),
    ...(account === undefined ? {} : { account: `${account.kind}/${account.name}` }),
    ...(remoteID === undefined ? {} : { remoteID }),
  };
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

/** How text is printed. `now`: ms since the epoch. `colors`: whether the output is a terminal that shows them. */
export type Printing = { format: Format; now: number; colors: boolean };

export function rendered(objects: readonly ShownObject[], printing: Printing): string {
  const { format } = printing;
  switch (format) {
    case "json":
    case "yaml":
      return itemsOf(objects, format);
    case "name":
      return objects.map(({ kind, name }) => `${kind.toLowerCase()}.mooring.dev/${name}\n`).join("");
    case "table":
    case "wide":
      return objects.length === 0 ? "no objects\n" : table(objects, printing) + summary(objects);
  }
}

/** Longest message of a table, in characters; `-o wide` shows all of it. */
const SHORT = 80;

type Column = { heading: string; wide?: true; cell(object: ShownObject, printing: Printing): string };

const COLUMNS: readonly Column[] = [
  { heading: "NAMESPACE", cell: ({ namespace }) => namespace || "-" },
  { heading: "OBJECT", cell: ({ kind, name }) => `${kind}/${name}` },
  { heading: "STATE", cell: ({ state }) => state },
  { heading: "REASON", cell: ({ reason }) => reason },
  { heading: "AGE", cell: ({ created }, { now }) => age(now - Date.parse(created)) },
  { heading: "PROGRESS", wide: true, cell: ({ progress }) => progressText(progress) },
  { heading: "ELAPSED", wide: true, cell: ({ progress }) => secondsText(progress.elapsedSeconds) },
  { heading: "LEFT", wide: true, cell: ({ progress }) => secondsText(progress.leftSeconds) },
  { heading: "COST", wide: true, cell: ({ cost }) => costText(cost) },
  { heading: "ACCOUNT", wide: true, cell: ({ account = "-" }) => account },
  { heading: "REMOTE ID", wide: true, cell: ({ remoteID = "-" }) => remoteID },
  { heading: "SERVER", wide: true, cell: ({ server = "-" }) => server },
  {
    heading: "MESSAGE",
    cell({ message }, { format }) {
      const text = oneLine(message);
      return format === "wide" || text.length <= SHORT ? text : `${text.slice(0, SHORT - 1)}…`;
    },
  },
];

export const COLORS: Readonly<Record<Tone, Parameters<typeof styleText>[0]>> = {
  good: "green",
  bad: "red",
  warn: "yellow",
  busy: "cyan",
  quiet: "gray",
};

function table(objects: readonly ShownObject[], printing: Printing): string {
  const isServed = objects.some(({ server }) => server !== undefined);
  const columns = COLUMNS.filter(
    ({ heading, wide }) => wide === undefined || (printing.format === "wide" && (heading !== "SERVER" || isServed)),
  );
  const rows = objects.map((object) => columns.map(({ cell }) => cell(object, printing)));
  const state = columns.findIndex(({ heading }) => heading === "STATE");
  const paint = (text: string, row: number, column: number) => {
    const object = objects[row];
    if (!printing.colors || object === undefined || column !== state) return text;
    return styleText(COLORS[toneOf(object)], text, { validateStream: false });
  };
  return tableOf(
    columns.map(({ heading }) => heading),
    rows,
    [],
    paint,
  );
}

function progressText({ percent, items, workers }: Progress): string {
  if (items !== undefined) return `${items.succeeded}/${items.total}`;
  if (percent !== undefined) return `${percent} %`;
  return workers === undefined ? "-" : `${workers.ready}/${workers.max} workers`;
}

function secondsText(seconds: number | undefined): string {
  return seconds === undefined ? "-" : durationText(seconds);
}

/** An amount in yuan, with the period that it covers. */
function costText(cost: Cost | undefined): string {
  if (cost === undefined) return "-";
  return cost.per === "month" ? `${cost.yuan}/month` : cost.yuan;
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
