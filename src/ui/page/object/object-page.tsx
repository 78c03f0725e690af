import type { ComponentChildren } from "preact";
import { useCallback, useRef } from "preact/hooks";
import type { ObjectView } from "../../view-types.ts";
import { objectPath } from "../api.ts";
import { useApp } from "../app-context.ts";
import { Age } from "../components/age.tsx";
import { Copyable } from "../components/copy.tsx";
import { ErrorNotice } from "../components/notice.tsx";
import { Prose } from "../components/prose.tsx";
import { StateBadge } from "../components/state-badge.tsx";
import { Title } from "../components/title.tsx";
import type { Changed } from "../live.ts";
import { type ViewRoute, withQuery } from "../route.ts";
import { useResource } from "../use-resource.ts";
import { Actions } from "./actions.tsx";
import { Drift, Status } from "./details.tsx";
import { Halted } from "./halted.tsx";
import { RequestBox } from "./request-box.tsx";
import { Results, Versions } from "./results.tsx";
import { Timeline } from "./timeline.tsx";
import { Workers } from "./workers.tsx";

type Key = { kind: string; namespace: string; name: string };
type ObjectPageProps = { object: Key; route: ViewRoute };

/** One object: its results first, what a user can do, and what happens next. */
export function ObjectPage({ object, route }: ObjectPageProps) {
  const { live } = useApp();
  const { kind, namespace, name } = object;
  const shown = useRef<readonly string[]>([]);
  const concerns = useCallback(
    (changed: Changed) =>
      changed?.keys?.some((key) => shown.current.includes(key)) ?? changed?.kinds.includes(kind) ?? true,
    [kind],
  );
  const { data, error } = useResource<ObjectView>(live, `api/objects/${objectPath(object)}`, concerns);
  shown.current = [object, ...(data?.versions.map(({ row }) => row) ?? [])].map(
    (one) => `${one.kind}/${one.namespace}/${one.name}`,
  );
  return (
    <>
      <div class="head">
        <div>
          <p class="crumbs">
            {kind}
            {namespace !== "" && ` in ${namespace}`}
          </p>
          <Title text={name} />
        </div>
        {data !== undefined && (
          <div class="actions">
            <a class="wa-button wa-outlined" href={`#/new/${objectPath(object)}`}>
              Duplicate
            </a>
            <a class="wa-button wa-outlined" href={`#/edit/${objectPath(object)}`}>
              Edit
            </a>
            <Actions row={data.row} actions={data.actions} />
          </div>
        )}
      </div>
      <ErrorNotice error={error} />
      {data === undefined ? error === undefined && <p>Loading…</p> : <Shown view={data} route={route} />}
    </>
  );
}

const TABS = [
  ["", "Overview"],
  ["spec", "Spec"],
  ["status", "Status"],
  ["diff", "Diff"],
] as const;

function Shown({ view, route }: { view: ObjectView; route: ViewRoute }) {
  const { row, next, drift } = view;
  const tab = route.query.get("tab") ?? "";
  const tabs = TABS.filter(([name]) => name !== "diff" || row.endpoint !== undefined);
  return (
    <>
      <p>
        <StateBadge state={row.state} /> {row.reason}, for <Age time={row.since} />
        {drift.length > 0 && (
          <>
            {" "}
            <a class="badge wa-warning" href={withQuery(route, { tab: "diff" })}>
              {drift.length === 1 ? "1 field drifts" : `${drift.length} fields drift`}
            </a>
          </>
        )}
      </p>
      {view.halt === undefined && (
        <p class="value">
          <Prose text={row.message} />
        </p>
      )}
      {row.job?.progressPercent !== undefined && row.state === "Running" && (
        <progress max={100} value={row.job.progressPercent} aria-label="Progress" />
      )}
      {row.kind === "MediaBatch" && (
        <p>
          <a href={`#/jobs?search=mooring.dev/batch=${row.name}`}>Jobs of this batch</a>
        </p>
      )}
      {next !== undefined && (
        <p class="next">
          <strong>Next:</strong> <Prose text={next} />
        </p>
      )}
      <nav class="tabs" aria-label="Parts of this page">
        {tabs.map(([name, title]) => (
          <a key={name} href={withQuery(route, { tab: name })} aria-current={tab === name ? "page" : undefined}>
            {title}
          </a>
        ))}
      </nav>
      <Tab tab={tab} view={view} />
    </>
  );
}

function Tab({ tab, view }: { tab: string; view: ObjectView }): ComponentChildren {
  switch (tab) {
    case "spec":
      return <Copyable text={view.spec} label="spec" />;
    case "status":
      return <Status conditions={view.conditions} status={view.status} />;
    case "diff":
      return <Drift drift={view.drift} synced={view.row.endpoint?.synced ?? ""} />;
    default:
      return <Overview view={view} />;
  }
}

function Overview({ view }: { view: ObjectView }) {
  const { row, halt, results, versions, text, workers, url, facts, history, eventsMissing, commands } = view;
  return (
    <div class="object">
      <div>
        {results.length > 0 && (
          <section class="card" aria-label="Results">
            <Results results={results} name={row.name} />
          </section>
        )}
        {halt !== undefined && <Halted halt={halt} row={row} />}
        {text !== undefined && (
          <section class="card" aria-labelledby="text">
            <h2 id="text">{row.kind === "VideoJob" ? "Prompt" : "Text"}</h2>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must reach what scrolls */}
            <blockquote class="text" tabIndex={0}>
              {text}
            </blockquote>
          </section>
        )}
        {versions.length > 0 && (
          <section aria-labelledby="versions">
            <h2 id="versions">Versions</h2>
            <Versions versions={versions} />
          </section>
        )}
        {url !== undefined && url !== "" && <RequestBox row={row} url={url} />}
        {workers.length > 0 && <Workers workers={workers} />}
        {halt === undefined && commands.length > 0 && (
          <section class="card" aria-labelledby="commands">
            <h2 id="commands">Commands that help</h2>
            {commands.map((command) => (
              <Copyable key={command} text={command} label="Command of the message" />
            ))}
          </section>
        )}
        <Timeline history={history} eventsMissing={eventsMissing} />
      </div>
      <section class="card" aria-label="Facts">
        <dl class="facts">
          {facts.map(([label, value]) => (
            <div key={label}>
              <dt>{label}</dt>
              <dd>
                <Prose text={value} />
              </dd>
            </div>
          ))}
        </dl>
      </section>
    </div>
  );
}
