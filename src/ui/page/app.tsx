import type { ComponentChildren } from "preact";
import { lazy, Suspense } from "preact/compat";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { AppProvider } from "./app-context.ts";
import { Title } from "./components/title.tsx";
import { List } from "./list/list.tsx";
import { attentionList, endpointList, jobList, objectList } from "./list/lists.tsx";
import { createLive, useLiveState } from "./live.ts";
import { useRoute, type ViewRoute } from "./route.ts";
import { Help } from "./shell/help.tsx";
import { Navigation } from "./shell/navigation.tsx";
import { Palette } from "./shell/palette.tsx";
import { Warnings } from "./shell/warnings.tsx";
import { createShortcuts, ShortcutsProvider } from "./shortcuts.ts";

/** Loaded when they are shown first, so that a list needs little. */
const NewPage = lazy(async () => ({ default: (await import("./form/form-page.tsx")).NewPage }));
const EditPage = lazy(async () => ({ default: (await import("./form/form-page.tsx")).EditPage }));
const Money = lazy(async () => ({ default: (await import("./views/money.tsx")).Money }));
const ObjectPage = lazy(async () => ({ default: (await import("./object/object-page.tsx")).ObjectPage }));
const Overview = lazy(async () => ({ default: (await import("./views/overview.tsx")).Overview }));

/** How long an announcement is shown, ms. */
const ANNOUNCED_MS = 8_000;

export function App() {
  const live = useMemo(() => createLive("api/changes"), []);
  const shortcuts = useMemo(createShortcuts, []);
  const { connected, state } = useLiveState(live);
  const { announced, announce } = useAnnouncements();
  const route = useRoute();
  const navigated = useRef(false);
  useEffect(() => {
    navigated.current = true;
  }, []);

  return (
    <AppProvider value={{ live, state, announce, navigated }}>
      <ShortcutsProvider value={shortcuts}>
        <button type="button" class="skip" onClick={() => document.getElementById("main")?.focus()}>
          Skip to the content
        </button>
        <Navigation view={route.path[0] ?? "overview"} connected={connected} />
        <main id="main" tabIndex={-1}>
          <Warnings connected={connected} state={state} />
          <Suspense fallback={<p>Loading…</p>}>
            <CurrentView route={route} />
          </Suspense>
        </main>
        <Help />
        <Palette />
        <p class={announced === "" ? "wa-visually-hidden" : "announcement"} role="status">
          {announced}
        </p>
      </ShortcutsProvider>
    </AppProvider>
  );
}

function useAnnouncements() {
  const [announced, setAnnounced] = useState("");
  const timer = useRef(0);
  const announce = useCallback((text: string) => {
    setAnnounced(text);
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(() => setAnnounced(""), ANNOUNCED_MS);
  }, []);
  return { announced, announce };
}

function CurrentView({ route }: { route: ViewRoute }): ComponentChildren {
  const [view = "overview", kind = "", namespace = "", name = ""] = route.path;
  switch (view) {
    case "overview":
      return <Overview />;
    case "jobs":
      return <List key="jobs" definition={jobList} route={route} />;
    case "endpoints":
      return <List key="endpoints" definition={endpointList} route={route} />;
    case "all":
      return <List key="all" definition={objectList} route={route} />;
    case "attention":
      return <List key="attention" definition={attentionList} route={route} />;
    case "new":
      return <NewPage key={route.path.join("/")} route={route} />;
    case "edit":
      return <EditPage key={route.path.join("/")} route={route} />;
    case "money":
      return <Money />;
    case "objects": {
      const object = { kind, namespace: namespace === "-" ? "" : namespace, name };
      return <ObjectPage key={route.path.join("/")} object={object} route={route} />;
    }
    default:
      return <Title text="There is no such page" />;
  }
}
