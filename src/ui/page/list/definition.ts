import type { ComponentChildren } from "preact";
import type { ListView, ObjectRow } from "../../view-types.ts";
import type { Changed } from "../live.ts";

/** A column beside the name, which every list has. */
export type ListColumn = {
  id: string;
  title: string;
  /** What the server sorts by; absent: the column cannot be sorted. */
  sort?: string;
  cell: (row: ObjectRow) => ComponentChildren;
  /** Whether the cell has nothing to show: a column without anything is left out. Absent: it always has. */
  isEmpty?: (row: ObjectRow) => boolean;
};

export type ListDefinition = {
  title: string;
  view: ListView;
  /** What a user does here first; absent: nothing can be made here. */
  create?: { label: string; path: string };
  /** That there is nothing, and what the list is for. */
  none: string;
  empty: string;
  columns: readonly ListColumn[];
  concerns: (changed: Changed) => boolean;
};
