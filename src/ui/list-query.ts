import * as z from "zod";
import { BATCH_KIND, ENDPOINT_KIND, JOB_KINDS, textOf } from "./row.ts";
import type { UiObject } from "./ui-object.ts";
import type { ListView, ObjectRow, RowPage } from "./view-types.ts";

/** Most rows of one response. */
const MAX_ROWS = 200;

/** A row with the object that it shows. `words`: what a search finds, in lower case, without the text of a job. */
export type ListEntry = { row: ObjectRow; object: UiObject; words: string };

export function listEntry(row: ObjectRow, object: UiObject): ListEntry {
  const { namespace, kind, name, state, reason, message, job } = row;
  const labels = Object.entries(object.metadata.labels ?? {}).map((label) => label.join("="));
  const about = textOf(object) === undefined ? row.about : "";
  const words = [name, namespace, kind, state, reason, message, about, job?.voice, job?.model, ...labels];
  return { row, object, words: words.join("\n").toLowerCase() };
}

const sortKeys = [
  "attention",
  "namespace",
  "name",
  "kind",
  "state",
  "since",
  "created",
  "progress",
  "workers",
  "cost",
  "drift",
] as const;

/** The query of a list: every value has a default, and a value out of range is an error. */
export const listQuerySchema = z.object({
  view: z.enum(["endpoints", "jobs", "attention", "all"]).default("all"),
  namespace: z.string().max(253).default(""),
  state: z.string().max(64).default(""),
  search: z.string().max(253).default(""),
  sort: z.enum(sortKeys).default("attention"),
  order: z.enum(["asc", "desc"]).default("asc"),
  offset: z.coerce.number().int().min(0).max(10_000_000).default(0),
  limit: z.coerce.number().int().min(1).max(MAX_ROWS).default(50),
});
export type ListQuery = z.output<typeof listQuerySchema>;

const VIEWS: Record<ListView, (row: ObjectRow) => boolean> = {
  endpoints: ({ kind }) => kind === ENDPOINT_KIND,
  jobs: ({ kind }) => JOB_KINDS.includes(kind) || kind === BATCH_KIND,
  attention: ({ needsUser }) => needsUser,
  all: () => true,
};

type Comparison = (a: ObjectRow, b: ObjectRow) => number;

const byText =
  (key: "namespace" | "name" | "kind" | "state"): Comparison =>
  (a, b) =>
    compareTexts(a[key], b[key]);
/** All times are RFC 3339 in UTC to the second: their order is that of the texts. */
const COMPARISONS: Record<ListQuery["sort"], Comparison> = {
  // What needs a person, then what is new.
  attention: (a, b) => Number(b.needsUser) - Number(a.needsUser) || compareTexts(b.created, a.created),
  namespace: byText("namespace"),
  name: byText("name"),
  kind: byText("kind"),
  state: byText("state"),
  since: (a, b) => compareTexts(a.since, b.since),
  created: (a, b) => compareTexts(a.created, b.created),
  progress: (a, b) => (a.job?.progressPercent ?? -1) - (b.job?.progressPercent ?? -1),
  workers: (a, b) => (a.endpoint?.workers.ready ?? -1) - (b.endpoint?.workers.ready ?? -1),
  drift: (a, b) => (a.endpoint?.drift ?? -1) - (b.endpoint?.drift ?? -1),
  cost: (a, b) => Number(a.cost ?? -1) - Number(b.cost ?? -1),
};

/** A part of the rows that match. Pure. Equal rows are in the order of namespace, kind and name. */
export function selectRows(all: Iterable<ListEntry>, query: ListQuery): Omit<RowPage, "synced"> {
  const { view, namespace, state, limit } = query;
  const words = wordsOf(query.search);
  const namespaces = new Set<string>();
  const states: Record<string, number> = {};
  const rows: ObjectRow[] = [];
  for (const entry of all) {
    const { row } = entry;
    if (!VIEWS[view](row)) continue;
    if (row.namespace !== "") namespaces.add(row.namespace);
    if (namespace !== "" && row.namespace !== namespace) continue;
    if (!words.every((word) => matches(entry, word))) continue;
    states[row.state] = (states[row.state] ?? 0) + 1;
    if (state === "" || row.state === state) rows.push(row);
  }
  const compare = COMPARISONS[query.sort];
  const sign = query.order === "desc" ? -1 : 1;
  rows.sort((a, b) => sign * compare(a, b) || compareNames(a, b));
  // After a deletion the asked part may no longer exist: the last one does.
  const offset = Math.max(0, Math.min(query.offset, rows.length - limit));
  return {
    rows: rows.slice(offset, offset + limit),
    total: rows.length,
    offset,
    states,
    namespaces: [...namespaces].sort(compareTexts),
  };
}

type Word = { text: string; expression: RegExp };

function wordsOf(search: string): Word[] {
  const words = search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  return words.map((text) => ({ text, expression: new RegExp(text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"), "iu") }));
}

/** An expression searches a text in place: lower-case copies of 10,000 texts take five times as long. */
function matches({ object, words }: ListEntry, { text, expression }: Word): boolean {
  return words.includes(text) || expression.test(textOf(object) ?? "");
}

const compareNames: Comparison = (a, b) =>
  compareTexts(a.namespace, b.namespace) || compareTexts(a.kind, b.kind) || compareTexts(a.name, b.name);

/** By code units: names of Kubernetes are ASCII, and `localeCompare` of 10,000 rows takes half a second. */
function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
