import {
  columnVisibilityFeature,
  createColumnHelper,
  type Header,
  type Row,
  rowSelectionFeature,
  rowSortingFeature,
  tableFeatures,
  useTable,
} from "@tanstack/preact-table";
import { useMemo, useRef } from "preact/hooks";
import type { ObjectRow, RowPage } from "../../view-types.ts";
import { NameCell } from "./cells.tsx";
import type { ListDefinition } from "./definition.ts";
import type { Selection } from "./selection.ts";
import { rowId } from "./selection.ts";

const features = tableFeatures({ columnVisibilityFeature, rowSelectionFeature, rowSortingFeature });
type Features = typeof features;
const helper = createColumnHelper<Features, ObjectRow>();

export type Sorting = { id: string; desc: boolean };

type RowTableProps = {
  definition: ListDefinition;
  page: RowPage;
  /** Rows that are rendered, as places in the whole list. */
  shown: { first: number; last: number };
  rowHeight: number;
  sorting: Sorting | undefined;
  onSort: (sorting: Sorting) => void;
  /** Absent: the page is read-only. */
  selection: Selection | undefined;
};

const NO_ROWS: ObjectRow[] = [];

/** The rows of a list that are visible. The server filters and sorts. Rows that are not read yet are empty. */
export function RowTable(props: RowTableProps) {
  const { definition, page, shown, rowHeight, sorting, onSort, selection } = props;
  const columns = useMemo(() => columnsOf(definition), [definition]);
  const columnVisibility = useVisibility(definition, page);
  const table = useTable({
    features,
    columns,
    data: page.total === 0 ? NO_ROWS : page.rows,
    getRowId: rowId,
    manualSorting: true,
    enableSortingRemoval: false,
    enableRowSelection: selection !== undefined,
    state: {
      sorting: sorting === undefined ? [] : [sorting],
      rowSelection: selection?.selected ?? {},
      columnVisibility,
    },
    onSortingChange: (update) => {
      const [next] = typeof update === "function" ? update(sorting === undefined ? [] : [sorting]) : update;
      if (next !== undefined) onSort(next);
    },
    onRowSelectionChange: (update) =>
      selection?.set(typeof update === "function" ? update(selection.selected) : update),
  });
  const rows = table.getRowModel().rows;
  const count = table.getVisibleLeafColumns().length + (selection === undefined ? 0 : 1);
  return (
    <table class="rows" aria-label={definition.title} aria-rowcount={page.total + 1}>
      <thead>
        <tr aria-rowindex={1}>
          {selection !== undefined && (
            <th class="check">
              <input
                type="checkbox"
                aria-label="Select all"
                checked={selection.count > 0}
                indeterminate={selection.count > 0 && selection.count < page.total}
                onChange={() => (selection.count > 0 ? selection.set({}) : void selection.selectAll())}
              />
            </th>
          )}
          {table.getHeaderGroups()[0]?.headers.map((header) => (
            <HeaderCell key={header.id} header={header} />
          ))}
        </tr>
      </thead>
      <tbody>
        <Space height={shown.first * rowHeight} columns={count} />
        {Array.from({ length: Math.max(0, shown.last - shown.first + 1) }, (_, index) => {
          const place = shown.first + index;
          const row = rows[place - page.offset];
          return (
            <BodyRow
              key={row?.id ?? place}
              row={row}
              place={place}
              columns={count}
              selectable={selection !== undefined}
            />
          );
        })}
        <Space height={Math.max(0, page.total - 1 - shown.last) * rowHeight} columns={count} />
      </tbody>
    </table>
  );
}

function columnsOf({ columns }: ListDefinition) {
  return [
    helper.accessor((row): unknown => row.name, {
      id: "name",
      header: "Name",
      cell: ({ row }) => <NameCell row={row.original} />,
    }),
    ...columns.map(({ id, title, sort, cell }) =>
      helper.accessor((row): unknown => row.uid, {
        id: sort ?? id,
        header: title,
        enableSorting: sort !== undefined,
        cell: ({ row }) => cell(row.original),
      }),
    ),
  ];
}

/** A column is shown from the first row on that has something in it. */
function useVisibility({ columns }: ListDefinition, { rows }: RowPage): Record<string, boolean> {
  const seen = useRef(new Set<string>());
  return useMemo(() => {
    const shown = columns.map(({ id, sort = id, isEmpty }) => {
      const has = isEmpty === undefined || seen.current.has(id) || rows.some((row) => !isEmpty(row));
      if (has) seen.current.add(id);
      return [sort, has] as const;
    });
    return Object.fromEntries(shown);
  }, [columns, rows]);
}

const MARKS = { asc: " ↑", desc: " ↓" } as const;
const ARIA = { asc: "ascending", desc: "descending" } as const;

function HeaderCell({ header }: { header: Header<Features, ObjectRow> }) {
  const { column } = header;
  const title = String(column.columnDef.header);
  const sorted = column.getIsSorted();
  return (
    <th scope="col" class={`column-${column.id}`} aria-sort={sorted === false ? undefined : ARIA[sorted]}>
      {column.getCanSort() ? (
        <button type="button" class="sort wa-plain" onClick={() => column.toggleSorting()}>
          {title}
          <span aria-hidden="true">{sorted === false ? "" : MARKS[sorted]}</span>
        </button>
      ) : (
        title
      )}
    </th>
  );
}

type BodyRowProps = { row: Row<Features, ObjectRow> | undefined; place: number; columns: number; selectable: boolean };

function BodyRow({ row, place, columns, selectable }: BodyRowProps) {
  if (row === undefined) {
    return (
      <tr class="unread" aria-rowindex={place + 2}>
        <td colSpan={columns}>
          <span class="wa-visually-hidden">Loading…</span>
        </td>
      </tr>
    );
  }
  const { needsUser, name } = row.original;
  const [first, ...others] = row.getVisibleCells();
  return (
    <tr
      class={needsUser ? "attention" : ""}
      data-place={place}
      aria-rowindex={place + 2}
      aria-selected={selectable ? row.getIsSelected() : undefined}
    >
      {selectable && (
        <td class="check">
          <input
            type="checkbox"
            aria-label={`Select ${name}`}
            checked={row.getIsSelected()}
            onClick={row.getToggleSelectedHandler()}
          />
        </td>
      )}
      <th scope="row" class="column-name">
        {first === undefined ? name : cellOf(first)}
      </th>
      {others.map((cell) => (
        <td key={cell.id} class={`column-${cell.column.id}`}>
          {cellOf(cell)}
        </td>
      ))}
    </tr>
  );
}

type BodyCell = ReturnType<Row<Features, ObjectRow>["getVisibleCells"]>[number];

function cellOf(cell: BodyCell) {
  const render = cell.column.columnDef.cell;
  return typeof render === "function" ? render(cell.getContext()) : render;
}

/** Stands for the rows before or after those that are rendered. */
function Space({ height, columns }: { height: number; columns: number }) {
  if (height <= 0) return null;
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: an empty row takes no focus
    <tr aria-hidden="true" class="space">
      <td colSpan={columns} style={{ height: `${height}px` }} />
    </tr>
  );
}
