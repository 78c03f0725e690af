import type { AccountSpending, Amount, MoneyView, ReportSpending } from "../../view-types.ts";
import { objectPath } from "../api.ts";
import { useApp } from "../app-context.ts";
import { Age } from "../components/age.tsx";
import { Bars, yuan } from "../components/bars.tsx";
import { ErrorNotice } from "../components/notice.tsx";
import { StateBadge } from "../components/state-badge.tsx";
import { TimePlot } from "../components/time-plot.tsx";
import { Title } from "../components/title.tsx";
import type { Changed } from "../live.ts";
import { useResource } from "../use-resource.ts";

const KINDS = ["Account", "ClusterAccount", "BillReport"];
const concerns = (changed: Changed) => changed === undefined || KINDS.some((kind) => changed.kinds.includes(kind));

/** Spending, limits and budgets of accounts, and the sums of bill reports. */
export function Money() {
  const { live } = useApp();
  const { data, error } = useResource<MoneyView>(live, "api/money", concerns);
  return (
    <>
      <Title text="Money" />
      <p class="quiet">Amounts are in yuan, as the service bills them. Bills arrive with a delay. A line is a limit.</p>
      <ErrorNotice error={error} />
      {data === undefined && error === undefined && <p>Loading…</p>}
      {data?.accounts.length === 0 && <p class="empty">There are no accounts that you may see.</p>}
      <div class="columns">
        {data?.accounts.map((account) => (
          <Account key={`${account.kind}/${account.namespace}/${account.name}`} account={account} />
        ))}
      </div>
      {data?.reports.map((report) => (
        <Report key={`${report.namespace}/${report.name}`} report={report} />
      ))}
      {data?.reports.length === 0 && (
        <p class="empty">
          A BillReport shows cost by day, product, API key and namespace. There is none:{" "}
          <a href="#/new/BillReport">create one</a>.
        </p>
      )}
    </>
  );
}

function Account({ account }: { account: AccountSpending }) {
  const { kind, namespace, name, spend, monthlyLimit, budgets, exceeded, ready, why } = account;
  const title = `${kind} ${namespace === "" ? "" : `${namespace}/`}${name}`;
  const limited = budgets.filter(({ limit }) => limit !== undefined);
  return (
    <section class="card" aria-label={title}>
      <h2>
        <a href={`#/objects/${objectPath(account)}`}>{title}</a> {!ready && <StateBadge state="NotReady" />}
      </h2>
      {exceeded !== undefined && <p class="notice wa-danger">{exceeded}</p>}
      {why !== "" && <p class={ready ? "quiet" : "notice wa-warning"}>{why}</p>}
      {spend !== undefined && (
        <>
          <Bars
            title={`Spending of ${title}`}
            bars={[
              { label: "Today", amount: spend.day },
              { label: "This week", amount: spend.week },
              { label: "This month", amount: spend.month, limit: monthlyLimit },
            ]}
          />
          {spend.asOf !== undefined && (
            <p class="quiet">
              Read <Age time={spend.asOf} /> ago.
            </p>
          )}
        </>
      )}
      {limited.length > 0 && (
        <Bars
          title={`Budgets of ${title}`}
          bars={limited.map(({ key, used, limit }) => ({ label: key, amount: used, limit }))}
        />
      )}
    </section>
  );
}

function Report({ report }: { report: ReportSpending }) {
  const { namespace, name, period, total, final, byProduct, byCategory, byKey, byDate, shares } = report;
  const title = `BillReport ${namespace}/${name}`;
  return (
    <section class="card" aria-label={title}>
      <h2>
        <a href={`#/objects/${objectPath({ kind: "BillReport", namespace, name })}`}>{title}</a>
      </h2>
      <p>{period === "" ? "No bills are read yet." : `${period}: ${yuan(total)}, ${final ? "final" : "not final"}`}</p>
      {byDate.length > 0 && <TimePlot title={`Cost over time: ${title}`} amounts={byDate} />}
      <div class="columns">
        <Part title={`By product: ${title}`} amounts={byProduct} />
        <Part title={`By namespace: ${title}`} amounts={shares} />
        <Part title={`By category: ${title}`} amounts={byCategory} />
        <Part title={`By API key: ${title}`} amounts={byKey} />
      </div>
    </section>
  );
}

function Part({ title, amounts }: { title: string; amounts: readonly Amount[] }) {
  return amounts.length === 0 ? null : <Bars title={title} bars={amounts} />;
}
