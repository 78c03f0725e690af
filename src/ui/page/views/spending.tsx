import type { AccountSpending, Amount, ReportSpending, SpendingView } from "../../view-types.ts";
import { objectPath } from "../api.ts";
import { useApp } from "../app-context.ts";
import { Age } from "../components/age.tsx";
import { ErrorNotice } from "../components/notice.tsx";
import { Plot } from "../components/plot.tsx";
import { TimePlot } from "../components/time-plot.tsx";
import type { Changed } from "../live.ts";
import { useResource } from "../use-resource.ts";

const KINDS = ["Account", "ClusterAccount", "BillReport"];
const concerns = (changed: Changed) => changed === undefined || KINDS.some((kind) => changed.kinds.includes(kind));

/** Spending and budgets of accounts, and the sums of bill reports. */
export function Spending() {
  const { live } = useApp();
  const { data, error } = useResource<SpendingView>(live, "api/spending", concerns);
  return (
    <>
      <h1 tabIndex={-1}>Spending</h1>
      <p>All amounts are in yuan, as the service bills them. Bills arrive with a delay.</p>
      <ErrorNotice error={error} />
      {data === undefined && <p>Loading…</p>}
      {data?.accounts.length === 0 && <p class="empty">There are no accounts that you may see.</p>}
      {data?.accounts.map((account) => (
        <Account key={`${account.kind}/${account.namespace}/${account.name}`} account={account} />
      ))}
      {data?.reports.map((report) => (
        <Report key={`${report.namespace}/${report.name}`} report={report} />
      ))}
    </>
  );
}

function Account({ account }: { account: AccountSpending }) {
  const { kind, namespace, name, spend, monthlyLimit, budgets, exceeded } = account;
  const title = `${kind} ${namespace === "" ? "" : `${namespace}/`}${name}`;
  const bars = [
    { label: "Today", values: [spend?.day] },
    { label: "This week", values: [spend?.week] },
    { label: "This month", values: [spend?.month] },
    ...(monthlyLimit === undefined ? [] : [{ label: "Monthly limit", values: [monthlyLimit] }]),
  ];
  const limited = budgets.filter(({ limit }) => limit !== undefined);
  return (
    <section class="card">
      <h2>
        <a href={`#/objects/${objectPath(account)}`}>{title}</a>
      </h2>
      {exceeded !== undefined && <p class="notice bad">{exceeded}</p>}
      {spend === undefined ? (
        <p class="quiet">This account shows no amounts.</p>
      ) : (
        <>
          <Plot title={`Spending of ${title}`} series={["Amount"]} bars={bars} />
          {spend.asOf !== undefined && (
            <p class="quiet">
              Read <Age time={spend.asOf} /> ago.
            </p>
          )}
        </>
      )}
      {limited.length > 0 && (
        <Plot
          title={`Budgets of ${title}`}
          series={["Used", "Limit"]}
          bars={limited.map(({ key, used, limit }) => ({ label: key, values: [used, limit] }))}
        />
      )}
    </section>
  );
}

const toBars = (amounts: readonly Amount[]) => amounts.map(({ label, amount }) => ({ label, values: [amount] }));

function Report({ report }: { report: ReportSpending }) {
  const { namespace, name, period, total, final, byProduct, byCategory, byKey, byDate } = report;
  const title = `BillReport ${namespace}/${name}`;
  return (
    <section class="card">
      <h2>
        <a href={`#/objects/${objectPath({ kind: "BillReport", namespace, name })}`}>{title}</a>
      </h2>
      <p>
        {period === "" ? "No bills are read yet." : `${period}: ${total?.toLocaleString() ?? "-"} yuan`}
        {period !== "" && (final ? ", final" : ", not final")}
      </p>
      {byDate.length > 0 && <TimePlot title={`Cost over time: ${title}`} amounts={byDate} />}
      <div class="columns">
        {byProduct.length > 0 && <Plot title={`By product: ${title}`} series={["Amount"]} bars={toBars(byProduct)} />}
        {byCategory.length > 0 && (
          <Plot title={`By category: ${title}`} series={["Amount"]} bars={toBars(byCategory)} />
        )}
        {byKey.length > 0 && <Plot title={`By API key: ${title}`} series={["Amount"]} bars={toBars(byKey)} />}
      </div>
    </section>
  );
}
