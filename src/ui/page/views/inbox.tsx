import type { InboxPage, InboxRow } from "../../view-types.ts";
import { objectPath } from "../api.ts";
import { useApp } from "../app-context.ts";
import { Actions } from "../components/actions.tsx";
import { Age } from "../components/age.tsx";
import { Copyable } from "../components/copy.tsx";
import { Filters } from "../components/filters.tsx";
import { ErrorNotice } from "../components/notice.tsx";
import { StateBadge } from "../components/state-badge.tsx";
import { type ViewRoute, withQuery } from "../route.ts";
import { useResource } from "../use-resource.ts";

const always = () => true;

/** Objects that wait for a user, with what the user can do. The oldest come first. */
export function Inbox({ route }: { route: ViewRoute }) {
  const { live } = useApp();
  const query = new URLSearchParams({ sort: "since", pageSize: "20", ...Object.fromEntries(route.query) });
  const { data, error } = useResource<InboxPage>(live, `api/inbox?${query}`, always);
  return (
    <>
      <h1 tabIndex={-1}>Inbox</h1>
      <p>These objects are Halted or Stalled: nothing continues before you act.</p>
      <Filters route={route} page={data} />
      <ErrorNotice error={error} />
      {data === undefined && <p>Loading…</p>}
      {data?.total === 0 && <p class="empty">{data.synced ? "No object needs you." : "The cluster is being read…"}</p>}
      {data?.rows.map((row) => (
        <Item key={row.uid} row={row} />
      ))}
      {data !== undefined && data.page * data.pageSize < data.total && (
        <a href={withQuery(route, { page: String(data.page + 1) })}>Next {data.pageSize}</a>
      )}
    </>
  );
}

function Item({ row }: { row: InboxRow }) {
  return (
    <article class="card">
      <h2>
        <a href={`#/objects/${objectPath(row)}`}>
          {row.kind} {row.namespace === "" ? "" : `${row.namespace}/`}
          {row.name}
        </a>{" "}
        <StateBadge state={row.state} />
      </h2>
      <p class="quiet">
        {row.reason}, for <Age time={row.since} />
      </p>
      <p>{row.message}</p>
      <Actions row={row} actions={row.actions} />
      {row.commands.length > 0 && (
        <details>
          <summary>Commands of the message</summary>
          {row.commands.map((command) => (
            <Copyable key={command} text={command} label={`Command for ${row.name}`} />
          ))}
        </details>
      )}
    </article>
  );
}
