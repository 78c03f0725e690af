import * as z from "zod";
import { ENDPOINT_KIND, JOB_KINDS } from "./row.ts";
import type { ListView, ObjectRow, RowPage } from "./view-types.ts";

/** Most rows of one page. */
export const MAX_PAGE_SIZE = 200;

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
] as const;

/** The query of a list: every value has a default, and a value out of range is an error. */
export const listQuerySchema = z.object({
  view: z.enum(["endpoints", "jobs", "inbox", "all"]).default("all"),
  namespace: z.string().max(253).default(""),
  state: z.string().max(64).default(""),
  search: z.string().max(253).default(""),
  sort: z.enum(sortKeys).default("attention"),
  order: z.enum(["asc", "desc"]).default("asc"),
  page: z.coerce.number().int().min(1).max(1_000_000).default(1),
  pageSize: z.coerce.number().int().min(1).max(MAX_PAGE_SIZE).default(50),
});
export type ListQuery = z.output<typeof listQuerySchema>;

const VIEWS: Record<ListView, (row: ObjectRow) => boolean> = {
  endpoints: ({ kind }) => kind === ENDPOINT_KIND,
  jobs: ({ kind }) => JOB_KINDS.includes(kind),
  inbox: ({ needsUser }) => needsUser,
  all: () => true,
};

type Comparison = (a: ObjectRow, b: ObjectRow) => number;

const byText =
  (key: "namespace" | "name" | "kind" | "state"): Comparison =>
  (a, b) =>
    compareTexts(a[key], b[key]);
/** All times are RFC 3339 in UTC to the second: their order is that of the texts. */
const COMPARISONS: Record<ListQuery["sort"], Comparison> = {
  attention: (a, b) => Number(b.needsUser) - Number(a.needsUser),
  namespace: byText("namespace"),
  name: byText("name"),
  kind: byText("kind"),
  state: byText("state"),
  since: (a, b) => compareTexts(a.since, b.since),
  created: (a, b) => compareTexts(a.created, b.created),
  progress: (a, b) => (a.job?.progressPercent ?? -1) - (b.job?.progressPercent ?? -1),
  workers: (a, b) => (a.endpoint?.workers.ready ?? -1) - (b.endpoint?.workers.ready ?? -1),
};

/** A page of the rows that match. Pure. Equal rows are in the order of namespace, kind and name. */
export function selectRows(all: Iterable<ObjectRow>, query: ListQuery): Omit<RowPage, "synced"> {
  const { view, namespace, state, pageSize } = query;
  const search = query.search.toLowerCase();
  const namespaces = new Set<string>();
  const states: Record<string, number> = {};
  const rows: ObjectRow[] = [];
  for (const row of all) {
    if (!VIEWS[view](row)) continue;
    if (row.namespace !== "") namespaces.add(row.namespace);
    if (namespace !== "" && row.namespace !== namespace) continue;
    if (search !== "" && !matches(row, search)) continue;
    states[row.state] = (states[row.state] ?? 0) + 1;
    if (state === "" || row.state === state) rows.push(row);
  }
  const compare = COMPARISONS[query.sort];
  const sign = query.order === "desc" ? -1 : 1;
  rows.sort((a, b) => sign * compare(a, b) || compareNames(a, b));
  // After a deletion the asked page may no longer exist: the last one does.
  const page = Math.min(query.page, Math.max(1, Math.ceil(rows.length / pageSize)));
  return {
    rows: rows.slice((page - 1) * pageSize, page * pageSize),
    total: rows.length,
    page,
    pageSize,
    states,
    namespaces: [...namespaces].sort(compareTexts),
  };
}

function matches({ namespace, kind, name, state, reason, message }: ObjectRow, search: string): boolean {
  return [name, namespace, kind, state, reason, message].some((text) => text.toLowerCase().includes(search));
}

const compareNames: Comparison = (a, b) =>
  compareTexts(a.namespace, b.namespace) || compareTexts(a.kind, b.kind) || compareTexts(a.name, b.name);

/** By code units: names of Kubernetes are ASCII, and `localeCompare` of 10,000 rows takes half a second. */
function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
