import { Plus } from "lucide";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { RowPage } from "../../view-types.ts";
import { useApp } from "../app-context.ts";
import { Icon } from "../components/icon.tsx";
import { ErrorNotice } from "../components/notice.tsx";
import { Title } from "../components/title.tsx";
import { useMedia } from "../media.ts";
import { currentWithQuery, type ViewRoute, withQuery } from "../route.ts";
import { useShortcuts } from "../shortcuts.ts";
import { useResource } from "../use-resource.ts";
import { BulkActions } from "./bulk-actions.tsx";
import type { ListDefinition } from "./definition.ts";
import { Filters } from "./filters.tsx";
import { RowTable, type Sorting } from "./row-table.tsx";
import { useSelection } from "./selection.ts";
import { useVirtualRows } from "./use-virtual-rows.ts";

/** Heights of a row and of a card, px: as in the style sheet. */
const ROW_HEIGHT = 60;
const CARD_HEIGHT = 112;
/** Parts of the list begin at multiples of this, so that not every step of scrolling reads again. */
const STEP = 20;

type ListProps = { definition: ListDefinition; route: ViewRoute };

/** A list of objects: filtered and sorted by the server, read where it is visible, and up to date by itself. */
export function List({ definition, route }: ListProps) {
  const { live, state } = useApp();
  const { view, title, concerns, create } = definition;
  const filters = new URLSearchParams({ view, ...Object.fromEntries(route.query) }).toString();
  const container = useRef<HTMLDivElement>(null);
  const [part, setPart] = useState({ offset: 0, limit: 3 * STEP });
  const path = `api/rows?${filters}&offset=${part.offset}&limit=${part.limit}`;
  const { data, error } = useResource<RowPage>(live, path, concerns);
  const rowHeight = useMedia("(max-width: 699px)") ? CARD_HEIGHT : ROW_HEIGHT;
  const initialOffset = useRememberedScroll(window.location.hash, data !== undefined);
  const rows = useVirtualRows({ count: data?.total ?? 0, rowHeight, container, initialOffset });
  const items = rows.getVirtualItems();
  const shown = { first: items[0]?.index ?? 0, last: items.at(-1)?.index ?? -1 };
  const selection = useSelection(filters);
  const writable = state !== undefined && state.readOnly === undefined;

  useEffect(() => {
    const offset = Math.max(0, Math.floor((shown.first - STEP / 2) / STEP) * STEP);
    const limit = Math.min(200, Math.ceil((shown.last + STEP / 2 - offset) / STEP) * STEP);
    const fits = offset === part.offset && limit <= part.limit;
    if (shown.last >= 0 && !fits) setPart({ offset, limit: Math.max(limit, part.limit) });
  }, [shown.first, shown.last]);

  useRowKeys({ total: data?.total ?? 0, scrollTo: (place) => rows.scrollToIndex(place) });

  return (
    <>
      <div class="head">
        <Title text={title}>
          {data !== undefined && <span class="count quiet"> {data.total.toLocaleString()}</span>}
        </Title>
        {create !== undefined && (
          <a class="wa-button wa-brand" href={`#/${create.path}`}>
            <Icon icon={Plus} /> {create.label}
          </a>
        )}
      </div>
      <Filters route={route} page={data} />
      <ErrorNotice error={error} />
      <div ref={container}>
        {data === undefined && <p>Loading…</p>}
        {data?.total === 0 && <Empty definition={definition} route={route} synced={data.synced} />}
        {data !== undefined && data.total > 0 && (
          <RowTable
            definition={definition}
            page={data}
            shown={shown}
            rowHeight={rowHeight}
            sorting={sortingOf(route)}
            onSort={({ id, desc }) => {
              window.location.hash = currentWithQuery({ sort: id, order: desc ? "desc" : "" });
            }}
            selection={writable ? selection : undefined}
          />
        )}
      </div>
      {writable && <BulkActions view={view} selection={selection} total={data?.total ?? 0} />}
    </>
  );
}

type EmptyProps = { definition: ListDefinition; route: ViewRoute; synced: boolean };

/** Why there are no rows, and what to do. */
function Empty({ definition: { empty, none }, route, synced }: EmptyProps) {
  const filters = ["search", "state", "namespace"].filter((name) => route.query.has(name));
  if (!synced) return <p class="empty">The cluster is being read…</p>;
  if (filters.length === 0) {
    return (
      <div class="empty card">
        <p>
          <strong>{none}</strong>
        </p>
        <p>{empty}</p>
      </div>
    );
  }
  const cleared = withQuery(route, Object.fromEntries(filters.map((name) => [name, ""])));
  return (
    <p class="empty card">
      Nothing fits the search. <a href={cleared}>Show all</a>
    </p>
  );
}

function sortingOf({ query }: ViewRoute): Sorting | undefined {
  const id = query.get("sort");
  return id === null ? undefined : { id, desc: query.get("order") === "desc" };
}

/** Where a list was scrolled to comes back with its address, as after a look at an object. */
function useRememberedScroll(hash: string, loaded: boolean): number {
  const key = `mooring-scroll ${hash}`;
  const offset = useMemo(() => Number(window.sessionStorage.getItem(key) ?? 0), [key]);
  useEffect(() => {
    if (!loaded) return;
    if (offset > 0) window.scrollTo(0, offset);
    const remember = () => window.sessionStorage.setItem(key, String(window.scrollY));
    window.addEventListener("scroll", remember, { passive: true });
    return () => window.removeEventListener("scroll", remember);
  }, [key, loaded]);
  return offset;
}

/** j and k go from row to row, x selects, Enter opens by itself. */
function useRowKeys({ total, scrollTo }: { total: number; scrollTo: (place: number) => void }): void {
  const place = useRef(-1);
  const rowAt = (wanted: number) => document.querySelector<HTMLElement>(`tr[data-place="${wanted}"]`);
  function go(step: number): void {
    const focused = document.activeElement?.closest<HTMLElement>("tr[data-place]")?.dataset["place"];
    const from = focused === undefined ? place.current : Number(focused);
    place.current = Math.max(0, Math.min(total - 1, from + step));
    scrollTo(place.current);
    // Rendered by now, or right after the scrolling.
    const focus = () => rowAt(place.current)?.querySelector("a")?.focus({ preventScroll: true });
    focus();
    window.requestAnimationFrame(() => window.requestAnimationFrame(focus));
  }
  useShortcuts([
    { key: "j", help: "Next row", run: () => go(1) },
    { key: "k", help: "Row before", run: () => go(-1) },
    { key: "x", help: "Select the row", run: () => rowAt(place.current)?.querySelector("input")?.click() },
  ]);
}
