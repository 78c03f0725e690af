import { Anchor, Boxes, Coins, LayoutDashboard, ListVideo, Server } from "lucide";
import type { RowPage } from "../../view-types.ts";
import { useApp } from "../app-context.ts";
import { Icon } from "../components/icon.tsx";
import { useResource } from "../use-resource.ts";
import { Theme } from "./theme.tsx";

const VIEWS = [
  { name: "overview", title: "Overview", icon: LayoutDashboard },
  { name: "jobs", title: "Jobs", icon: ListVideo },
  { name: "endpoints", title: "Endpoints", icon: Server },
  { name: "money", title: "Money", icon: Coins },
  { name: "all", title: "All objects", icon: Boxes },
] as const;

/** The views: a bar at the side, and on a phone at the bottom. */
export function Navigation({ view, connected }: { view: string; connected: boolean }) {
  const { state } = useApp();
  const live = connected && state?.disconnectedSince === undefined;
  return (
    <header class="shell">
      <p class="brand">
        <Icon icon={Anchor} /> <span>Mooring</span>
      </p>
      <nav aria-label="Views">
        {VIEWS.map(({ name, title, icon }) => (
          <a key={name} href={`#/${name}`} aria-current={view === name ? "page" : undefined}>
            <Icon icon={icon} />
            <span>{title}</span>
            {name === "overview" && <NeedsYou />}
          </a>
        ))}
      </nav>
      <div class="foot">
        <p class={live ? "live on" : "live off"} role="status">
          {live ? "Live" : "Not live"}
        </p>
        <Theme />
      </div>
    </header>
  );
}

const always = () => true;

/** How many objects wait for a person. */
function NeedsYou() {
  const { live } = useApp();
  const { data } = useResource<RowPage>(live, "api/rows?view=attention&limit=1", always);
  if (data === undefined || data.total === 0) return null;
  return (
    <>
      {" "}
      <span class="count bad">
        {data.total.toLocaleString()} <span class="wa-visually-hidden">need you</span>
      </span>
    </>
  );
}
