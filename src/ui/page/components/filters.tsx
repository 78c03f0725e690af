import { useEffect, useRef, useState } from "preact/hooks";
import type { RowPage } from "../../view-types.ts";
import { type ViewRoute, withQuery } from "../route.ts";

type FilteredPage = Pick<RowPage, "namespaces" | "states" | "total">;
const NOTHING: FilteredPage = { namespaces: [], states: {}, total: 0 };

/** Time after the last key until a search starts, ms. */
const TYPING_MS = 250;

/** Search, namespace and state. Each is part of the address, so that a filtered list can be shared. */
export function Filters({ route, page = NOTHING }: { route: ViewRoute; page: FilteredPage | undefined }) {
  const { query } = route;
  const chosen = query.get("state") ?? "";
  const namespace = query.get("namespace") ?? "";
  const namespaces = [...new Set([...page.namespaces, ...(namespace === "" ? [] : [namespace])])];
  const states = Object.entries(page.states).sort(([a], [b]) => a.localeCompare(b));
  const go = (changes: Record<string, string>) => {
    window.location.hash = withQuery(route, changes);
  };
  return (
    <search class="filters">
      <Search key={route.path.join("/")} value={query.get("search") ?? ""} onSearch={(search) => go({ search })} />
      <label>
        Namespace
        <select value={namespace} onChange={({ currentTarget }) => go({ namespace: currentTarget.value })}>
          <option value="">all</option>
          {namespaces.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <fieldset class="chips">
        <legend class="hidden">State</legend>
        <Chip name="All" count={sum(page.states)} pressed={chosen === ""} onPress={() => go({ state: "" })} />
        {states.map(([state, count]) => (
          <Chip
            key={state}
            name={state}
            count={count}
            pressed={chosen === state}
            onPress={() => go({ state: chosen === state ? "" : state })}
          />
        ))}
      </fieldset>
    </search>
  );
}

function sum(states: Record<string, number>): number {
  return Object.values(states).reduce((a, b) => a + b, 0);
}

type ChipProps = { name: string; count: number; pressed: boolean; onPress: () => void };

function Chip({ name, count, pressed, onPress }: ChipProps) {
  return (
    <button type="button" class="chip" aria-pressed={pressed} onClick={onPress}>
      {name} <span class="count">{count.toLocaleString()}</span>
    </button>
  );
}

function Search({ value, onSearch }: { value: string; onSearch: (text: string) => void }) {
  const [text, setText] = useState(value);
  const timer = useRef(0);
  useEffect(() => () => window.clearTimeout(timer.current), []);
  function type(next: string): void {
    setText(next);
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(() => onSearch(next), TYPING_MS);
  }
  return (
    <label>
      Search
      <input type="search" value={text} onInput={({ currentTarget }) => type(currentTarget.value)} />
    </label>
  );
}
