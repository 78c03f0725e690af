import { useMemo, useState } from "preact/hooks";
import type { ObjectRow, RowPage } from "../../view-types.ts";
import { getJson } from "../api.ts";

/** Most objects of one bulk action. */
export const MAX_SELECTED = 500;
const READ_AT_ONCE = 200;

/** Rows that the user selected, by `rowId`. They stay selected when they scroll away. */
export type Selection = {
  selected: Record<string, true>;
  count: number;
  set(selected: Record<string, true>): void;
  /** Selects what the filters show, on all parts of the list, up to `MAX_SELECTED`. */
  selectAll(): Promise<void>;
};

type Key = Pick<ObjectRow, "kind" | "namespace" | "name" | "uid">;

/** Names of Kubernetes have no slash. */
export function rowId({ kind, namespace, name, uid }: Key): string {
  return [kind, namespace, name, uid].join("/");
}

export function keyOfId(id: string): Key {
  const [kind = "", namespace = "", name = "", uid = ""] = id.split("/");
  return { kind, namespace, name, uid };
}

/** `query`: of the list, without the part. A list with other filters begins with nothing selected. */
export function useSelection(query: string): Selection {
  const [chosen, setChosen] = useState<{ query: string; selected: Record<string, true> }>({ query, selected: {} });
  const selected = chosen.query === query ? chosen.selected : {};
  return useMemo(
    () => ({
      selected,
      count: Object.keys(selected).length,
      set: (next) => setChosen({ query, selected: next }),
      async selectAll() {
        const ids: [string, true][] = [];
        for (let offset = 0; offset < MAX_SELECTED; offset += READ_AT_ONCE) {
          const limit = Math.min(READ_AT_ONCE, MAX_SELECTED - offset);
          const { rows, total } = await getJson<RowPage>(`api/rows?${query}&offset=${offset}&limit=${limit}`);
          ids.push(...rows.map((row): [string, true] => [rowId(row), true]));
          if (offset + limit >= total) break;
        }
        setChosen({ query, selected: Object.fromEntries(ids) });
      },
    }),
    [query, selected],
  );
}
