import { Search } from "lucide";
import { useEffect, useRef, useState } from "preact/hooks";
import type { RowPage } from "../../view-types.ts";
import { Icon } from "../components/icon.tsx";
import { currentWithQuery, type ViewRoute } from "../route.ts";
import { useShortcuts } from "../shortcuts.ts";

type FilteredPage = Pick<RowPage, "namespaces" | "states" | "total">;
const NOTHING: FilteredPage = { namespaces: [], states: {}, total: 0 };

/** Time after the last key until a search starts, ms. */
const TYPING_MS = 200;

/** Search, namespace and state. Each is part of the address, so that a filtered list can be shared. */
export function Filters({ route, page = NOTHING }: { route: ViewRoute; page: FilteredPage | undefined }) {
  const { query } = route;
  const chosen = query.get("state") ?? "";
  const namespace = query.get("namespace") ?? "";
  const namespaces = [...new Set([...page.namespaces, ...(namespace === "" ? [] : [namespace])])];
  const states = Object.entries(page.states).sort(([a], [b]) => a.localeCompare(b));
  const all = states.reduce((sum, [, count]) => sum + count, 0);
  const go = (changes: Record<string, string>) => {
    window.location.hash = currentWithQuery(changes);
  };
  return (
    <search class="filters">
      <SearchField
        key={route.path.join("/")}
        value={query.get("search") ?? ""}
        onSearch={(search) => window.location.replace(currentWithQuery({ search }))}
      />
      {(namespaces.length > 1 || namespace !== "") && (
        <select
          aria-label="Namespace"
          value={namespace}
          onChange={({ currentTarget }) => go({ namespace: currentTarget.value })}
        >
          <option value="">All namespaces</option>
          {namespaces.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      )}
      <fieldset class="chips">
        <legend class="wa-visually-hidden">State</legend>
        <Chip name="All" count={all} pressed={chosen === ""} onPress={() => go({ state: "" })} />
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

type ChipProps = { name: string; count: number; pressed: boolean; onPress: () => void };

function Chip({ name, count, pressed, onPress }: ChipProps) {
  return (
    <button type="button" class="chip" aria-pressed={pressed} onClick={onPress}>
      {name} <span class="count">{count.toLocaleString()}</span>
    </button>
  );
}

function SearchField({ value, onSearch }: { value: string; onSearch: (text: string) => void }) {
  const [text, setText] = useState(value);
  const timer = useRef(0);
  const input = useRef<HTMLInputElement>(null);
  useShortcuts([{ key: "/", help: "Search this list", run: () => input.current?.focus() }]);
  useEffect(() => () => window.clearTimeout(timer.current), []);
  function type(next: string): void {
    setText(next);
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(() => onSearch(next), TYPING_MS);
  }
  return (
    <div class="search">
      <Icon icon={Search} />
      <input
        ref={input}
        type="search"
        aria-label="Search"
        placeholder="Name, text, voice, image or label=value"
        value={text}
        onInput={({ currentTarget }) => type(currentTarget.value)}
      />
      <kbd>/</kbd>
    </div>
  );
}
