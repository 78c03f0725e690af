import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { RowPage, SessionState } from "../view-types.ts";
import { AppProvider, useApp } from "./app-context.ts";
import { applyTheme, readTheme, type ThemeChoice } from "./color-scheme.ts";
import { createLive, useLiveState } from "./live.ts";
import { useRoute, type ViewRoute } from "./route.ts";
import { localTime } from "./time.ts";
import { useResource } from "./use-resource.ts";
import { objectList } from "./views/all-objects.tsx";
import { Create } from "./views/create.tsx";
import { endpointList } from "./views/endpoints.tsx";
import { Inbox } from "./views/inbox.tsx";
import { jobList } from "./views/jobs.tsx";
import { List } from "./views/list.tsx";
import { ObjectPage } from "./views/object.tsx";
import { Spending } from "./views/spending.tsx";

const VIEWS = [
  ["endpoints", "Endpoints"],
  ["jobs", "Jobs"],
  ["inbox", "Inbox"],
  ["create", "Create a job"],
  ["spending", "Spending"],
  ["all", "All objects"],
] as const;

/** How long an announcement is shown, ms. */
const ANNOUNCED_MS = 8_000;

export function App() {
  const live = useMemo(() => createLive("api/changes"), []);
  const { connected, state } = useLiveState(live);
  const [announced, setAnnounced] = useState("");
  const timer = useRef(0);
  const announce = useCallback((text: string) => {
    setAnnounced(text);
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(() => setAnnounced(""), ANNOUNCED_MS);
  }, []);
  const route = useRoute();
  const { path } = route;
  const view = path[0] ?? "endpoints";
  useFocusOnHeading(path.join("/"));

  return (
    <AppProvider value={{ live, state, announce }}>
      <button type="button" class="skip" onClick={() => document.getElementById("main")?.focus()}>
        Skip to the content
      </button>
      <header>
        <p class="brand">Mooring</p>
        <nav aria-label="Views">
          {VIEWS.map(([name, title]) => (
            <a key={name} href={`#/${name}`} aria-current={view === name ? "page" : undefined}>
              {title}
              {name === "inbox" && <InboxCount />}
            </a>
          ))}
        </nav>
        <Theme />
        <p class={connected ? "live on" : "live off"} role="status">
          {connected ? "Live" : "Not live"}
        </p>
      </header>
      <main id="main" tabIndex={-1}>
        <Warnings connected={connected} state={state} />
        <CurrentView route={route} />
      </main>
      <p class={announced === "" ? "announcement hidden" : "announcement"} role="status">
        {announced}
      </p>
    </AppProvider>
  );
}

/** A new view starts at its heading, for the keyboard and for screen readers. */
function useFocusOnHeading(path: string): void {
  const first = useRef(true);
  useEffect(() => {
    const heading = document.querySelector<HTMLElement>("main h1");
    if (heading !== null) document.title = `${heading.textContent} · Mooring`;
    if (!first.current) heading?.focus();
    first.current = false;
  }, [path]);
}

function CurrentView({ route }: { route: ViewRoute }): ComponentChildren {
  const [view = "endpoints", kind = "", namespace = "", name = ""] = route.path;
  switch (view) {
    case "endpoints":
      return <List key="endpoints" definition={endpointList} route={{ ...route, path: ["endpoints"] }} />;
    case "jobs":
      return <List key="jobs" definition={jobList} route={route} />;
    case "all":
      return <List key="all" definition={objectList} route={route} />;
    case "inbox":
      return <Inbox route={route} />;
    case "create":
      return <Create route={route} />;
    case "spending":
      return <Spending />;
    case "objects": {
      const object = { kind, namespace: namespace === "-" ? "" : namespace, name };
      return <ObjectPage key={route.path.join("/")} object={object} />;
    }
    default:
      return <h1 tabIndex={-1}>There is no such page</h1>;
  }
}

const always = () => true;

function InboxCount() {
  const { live } = useApp();
  const { data } = useResource<RowPage>(live, "api/rows?view=inbox&pageSize=1", always);
  if (data === undefined || data.total === 0) return null;
  return (
    <>
      {" "}
      <span class="count bad">
        {data.total.toLocaleString()} <span class="hidden">need you</span>
      </span>
    </>
  );
}

type WarningsProps = { connected: boolean; state: SessionState | undefined };

function Warnings({ connected, state }: WarningsProps) {
  const problems = state?.kinds.flatMap(({ problem }) => problem ?? []) ?? [];
  return (
    <div class="warnings">
      {!connected && state !== undefined && (
        <p class="notice warn" role="alert">
          The page's server does not respond. The page shows what it knew last and connects again by itself.
        </p>
      )}
      {connected && state?.disconnectedSince !== undefined && (
        <p class="notice warn" role="alert">
          The cluster does not respond since {localTime(state.disconnectedSince)}. The page shows what it knew last.
        </p>
      )}
      {connected && state?.synced === false && <p class="notice">The cluster is being read: lists are incomplete.</p>}
      {problems.length > 0 && (
        <details class="notice warn">
          <summary>Some kinds are not shown</summary>
          <ul>
            {[...new Set(problems)].map((problem) => (
              <li key={problem}>{problem}</li>
            ))}
          </ul>
        </details>
      )}
      {state?.readOnly !== undefined && <p class="notice">{state.readOnly}.</p>}
    </div>
  );
}

function Theme() {
  const [theme, setTheme] = useState(readTheme());
  const choose = (choice: ThemeChoice) => {
    setTheme(choice);
    applyTheme(choice);
  };
  return (
    <label class="theme">
      Colors
      <select
        value={theme}
        onChange={({ currentTarget: { value } }) => choose(value === "light" || value === "dark" ? value : "auto")}
      >
        <option value="auto">as the system</option>
        <option value="light">light</option>
        <option value="dark">dark</option>
      </select>
    </label>
  );
}
