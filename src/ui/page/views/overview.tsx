import type { ComponentChildren } from "preact";
import type { AccountSpending, AttentionRow, ObjectRow, OverviewView } from "../../view-types.ts";
import { objectPath } from "../api.ts";
import { useApp } from "../app-context.ts";
import { Age } from "../components/age.tsx";
import { Meter } from "../components/meter.tsx";
import { Middle } from "../components/middle.tsx";
import { ErrorNotice } from "../components/notice.tsx";
import { Prose } from "../components/prose.tsx";
import { StateBadge } from "../components/state-badge.tsx";
import { Title } from "../components/title.tsx";
import { Progress } from "../list/cells.tsx";
import { Actions } from "../object/actions.tsx";
import { Versions } from "../object/results.tsx";
import { useResource } from "../use-resource.ts";

const always = () => true;

/** The first page: what needs a person, what runs, what it costs, and the last results. */
export function Overview() {
  const { live } = useApp();
  const { data, error } = useResource<OverviewView>(live, "api/overview", always);
  return (
    <>
      <Title text="Overview" />
      <ErrorNotice error={error} />
      {data === undefined ? error === undefined && <p>Loading…</p> : <Shown view={data} />}
    </>
  );
}

function Shown({ view }: { view: OverviewView }) {
  const { attention, waiting, running, endpoints, accounts, results } = view;
  return (
    <div class="overview">
      <div class="column">
        <Part title="Needs you" total={attention.total} href="#/attention">
          {attention.rows.map((row) => (
            <Attention key={row.uid} row={row} />
          ))}
          {attention.total === 0 && (
            <p class="quiet">{view.synced ? "Nothing needs you." : "The cluster is being read…"}</p>
          )}
          {waiting.map(({ reason, count }) => (
            <p key={reason}>
              <a href={`#/all?search=${reason}`}>
                {count.toLocaleString()} {count === 1 ? "waits" : "wait"}: {reason}
              </a>
            </p>
          ))}
        </Part>
        <Part title="Endpoints" total={endpoints.total} href="#/endpoints">
          <Endpoints endpoints={endpoints} />
        </Part>
      </div>
      <div class="column">
        <Part title="Running now" total={running.total} href="#/jobs?state=Running">
          {running.rows.map((row) => (
            <Running key={row.uid} row={row} />
          ))}
          {running.total === 0 && <p class="quiet">No job is at the service.</p>}
        </Part>
        <Part title="Money" href="#/money">
          {accounts.map((account) => (
            <Account key={`${account.kind}/${account.namespace}/${account.name}`} account={account} />
          ))}
          {accounts.length === 0 && <p class="quiet">There are no accounts that you may see.</p>}
        </Part>
      </div>
      <section class="wide" aria-labelledby="last-results">
        <h2 id="last-results">Last results</h2>
        <Versions versions={results} />
        {results.length === 0 && (
          <p class="quiet">
            No job has a result yet. <a href="#/new/SpeechJob">Speak a text</a> or{" "}
            <a href="#/new/VideoJob">make a video</a>.
          </p>
        )}
      </section>
    </div>
  );
}

type PartProps = { title: string; total?: number; href: string; children: ComponentChildren };

function Part({ title, total, href, children }: PartProps) {
  const id = title.toLowerCase().replace(" ", "-");
  return (
    <section class="card" aria-labelledby={id}>
      <h2 id={id}>
        <a href={href}>{title}</a> {total !== undefined && <span class="count quiet">{total.toLocaleString()}</span>}
      </h2>
      {children}
    </section>
  );
}

function Name({ row }: { row: ObjectRow }) {
  return (
    <a href={`#/objects/${objectPath(row)}`} aria-label={row.name}>
      <Middle text={row.name} />
    </a>
  );
}

function Attention({ row }: { row: AttentionRow }) {
  return (
    <article class="item">
      <h3>
        <Name row={row} /> <StateBadge state={row.state} />
      </h3>
      <p class="quiet">
        {row.kind} {row.namespace !== "" && `in ${row.namespace}`}, {row.reason} for <Age time={row.since} />
      </p>
      <p class="clamp">
        <Prose text={row.message} />
      </p>
      {row.state === "Halted" ? (
        <a class="wa-button wa-brand" href={`#/objects/${objectPath(row)}`} aria-label={`Decide about ${row.name}`}>
          Decide
        </a>
      ) : (
        <Actions row={row} actions={row.actions} />
      )}
    </article>
  );
}

function Running({ row }: { row: ObjectRow }) {
  return (
    <article class="item">
      <div class="line">
        <Name row={row} /> <StateBadge state={row.state} />
      </div>
      <p class="line quiet">{row.about}</p>
      <Progress row={row} />
    </article>
  );
}

function Endpoints({ endpoints }: { endpoints: OverviewView["endpoints"] }) {
  const { total, ready, suspended, drifting, workers, workersReady, workersMax } = endpoints;
  const other = total - ready - suspended;
  if (total === 0) return <p class="quiet">There are no endpoints.</p>;
  return (
    <>
      <Meter
        label="Workers"
        value={workersReady}
        max={Math.max(workersMax, workers)}
        text={`${workersReady} of ${workers} ready, at most ${workersMax}`}
      />
      <ul class="links">
        <Count count={ready} text="ready" href="#/endpoints?state=Ready" />
        <Count count={suspended} text="suspended" href="#/endpoints?state=Suspended" />
        <Count count={other} text="not ready" href="#/endpoints" />
        <Count count={drifting} text={drifting === 1 ? "drifts" : "drift"} href="#/endpoints?sort=drift&order=desc" />
      </ul>
    </>
  );
}

function Count({ count, text, href }: { count: number; text: string; href: string }) {
  if (count === 0) return null;
  return (
    <li>
      <a href={href}>
        {count.toLocaleString()} {text}
      </a>
    </li>
  );
}

/** Today and this month, and the month against its limit and the budgets of the keys. */
function Account({ account }: { account: AccountSpending }) {
  const { kind, namespace, name, spend, monthlyLimit, budgets, exceeded, why } = account;
  return (
    <article class="item">
      <h3>
        <a href={`#/objects/${objectPath(account)}`}>
          {kind} {namespace === "" ? "" : `${namespace}/`}
          {name}
        </a>
      </h3>
      {why !== "" && <p class="quiet clamp">{why}</p>}
      {exceeded !== undefined && <p class="notice wa-danger">{exceeded}</p>}
      {spend !== undefined && (
        <>
          <p class="money">
            <strong>¥{spend.day?.toLocaleString() ?? "-"}</strong> today,{" "}
            <strong>¥{spend.month?.toLocaleString() ?? "-"}</strong> this month
          </p>
          {monthlyLimit !== undefined && spend.month !== undefined && (
            <Meter
              label="Month"
              value={spend.month}
              max={monthlyLimit}
              text={`limit ¥${monthlyLimit.toLocaleString()}`}
            />
          )}
        </>
      )}
      {budgets.map(
        ({ key, used, limit }) =>
          limit !== undefined &&
          used !== undefined && (
            <Meter
              key={key}
              label={key}
              value={used}
              max={limit}
              text={`¥${used.toLocaleString()} of ¥${limit.toLocaleString()}`}
            />
          ),
      )}
    </article>
  );
}
