import type { RowPage } from "../../view-types.ts";
import { useApp } from "../app-context.ts";
import { Filters } from "../components/filters.tsx";
import { ErrorNotice } from "../components/notice.tsx";
import { RowTable, type TableColumn } from "../components/row-table.tsx";
import type { Changed } from "../live.ts";
import type { ViewRoute } from "../route.ts";
import { useResource } from "../use-resource.ts";

export type ListDefinition = {
  title: string;
  view: "endpoints" | "jobs" | "all";
  /** Default order, as the server names it. */
  sort: string;
  order: "asc" | "desc";
  columns: readonly TableColumn[];
  concerns: (changed: Changed) => boolean;
};

/** A list of objects: filtered, sorted and paged by the server, and up to date by itself. */
export function List({ definition, route }: { definition: ListDefinition; route: ViewRoute }) {
  const { live } = useApp();
  const { view, sort, order, title, columns, concerns } = definition;
  const query = new URLSearchParams({ view, sort, order, ...Object.fromEntries(route.query) });
  const { data, error } = useResource<RowPage>(live, `api/rows?${query}`, concerns);
  return (
    <>
      <h1 tabIndex={-1}>{title}</h1>
      <Filters route={route} page={data} />
      <ErrorNotice error={error} />
      {data === undefined ? <p>Loading…</p> : <RowTable caption={title} columns={columns} page={data} route={route} />}
    </>
  );
}
