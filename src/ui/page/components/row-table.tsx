import type { ComponentChildren } from "preact";
import type { ObjectRow, RowPage } from "../../view-types.ts";
import { objectPath } from "../api.ts";
import { type ViewRoute, withQuery } from "../route.ts";

export type TableColumn = {
  title: string;
  /** What the server sorts by; absent: the column cannot be sorted. */
  sort?: string;
  cell: (row: ObjectRow) => ComponentChildren;
};

type RowTableProps = { caption: string; columns: readonly TableColumn[]; page: RowPage; route: ViewRoute };

/** A page of a list as a table: sorted and paged by the server. */
export function RowTable({ caption, columns, page, route }: RowTableProps) {
  const { rows, total, synced } = page;
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must reach what scrolls */}
      <section class="scroll" aria-label={caption} tabIndex={0}>
        <table>
          <caption class="hidden">{caption}</caption>
          <thead>
            <tr>
              <th scope="col" aria-sort={sortOf(route, "name")}>
                <SortLink title="Name" sort="name" route={route} />
              </th>
              {columns.map(({ title, sort }) => (
                <th key={title} scope="col" aria-sort={sortOf(route, sort)}>
                  {sort === undefined ? title : <SortLink title={title} sort={sort} route={route} />}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.uid} class={row.needsUser ? "attention" : ""}>
                <th scope="row">
                  <a href={`#/objects/${objectPath(row)}`}>{row.name}</a>
                </th>
                {columns.map(({ title, cell }) => (
                  <td key={title}>{cell(row)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {total === 0 && <p class="empty">{synced ? "There are no such objects." : "The cluster is being read…"}</p>}
      <Pages page={page} route={route} />
    </>
  );
}

function sortOf({ query }: ViewRoute, sort: string | undefined): "ascending" | "descending" | undefined {
  if (sort === undefined || query.get("sort") !== sort) return undefined;
  return query.get("order") === "desc" ? "descending" : "ascending";
}

function SortLink({ title, sort, route }: { title: string; sort: string; route: ViewRoute }) {
  const current = sortOf(route, sort);
  const order = current === "ascending" ? "desc" : "asc";
  const mark = current === undefined ? "" : current === "ascending" ? " ↑" : " ↓";
  return (
    <a class="sort" href={withQuery(route, { sort, order })}>
      {title}
      <span aria-hidden="true">{mark}</span>
    </a>
  );
}

function Pages({ page: { page, pageSize, total }, route }: { page: RowPage; route: ViewRoute }) {
  const last = Math.max(1, Math.ceil(total / pageSize));
  const first = (page - 1) * pageSize + 1;
  const shown = total === 0 ? "0" : `${first.toLocaleString()}–${Math.min(total, page * pageSize).toLocaleString()}`;
  return (
    <nav class="pages" aria-label="Pages">
      <PageLink title="Previous" target={page - 1} enabled={page > 1} route={route} />
      <p>
        {shown} of {total.toLocaleString()}
      </p>
      <PageLink title="Next" target={page + 1} enabled={page < last} route={route} />
    </nav>
  );
}

type PageLinkProps = { title: string; target: number; enabled: boolean; route: ViewRoute };

function PageLink({ title, target, enabled, route }: PageLinkProps) {
  if (!enabled) return <span class="disabled">{title}</span>;
  return <a href={withQuery(route, { page: String(target) })}>{title}</a>;
}
