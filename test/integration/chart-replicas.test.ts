import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { tool } from "../../tools/programs/tool.ts";
import { CHART, type Rendered, render } from "../support/chart.ts";

type Deployment = { spec: { replicas: number; template: { spec: { topologySpreadConstraints?: unknown[] } } } };

const ofKind = (objects: readonly Rendered[], kind: string) => objects.filter((object) => object.kind === kind);
const rendered = (...settings: string[]) => render("mooring-system", ...settings);

describe("the value replicaCount", () => {
  test.each([
    { replicas: 1, spreads: 0, budgets: 0 },
    { replicas: 2, spreads: 1, budgets: 1 },
  ])("$replicas: $spreads topology spread, $budgets disruption budget", async ({ replicas, spreads, budgets }) => {
    const objects = await rendered(`--set=replicaCount=${replicas}`);
    const [deployment, ...others] = ofKind(objects, "Deployment") as unknown as Deployment[];
    expect(others).toEqual([]);
    expect(deployment?.spec.replicas).toBe(replicas);
    expect(deployment?.spec.template.spec.topologySpreadConstraints ?? []).toHaveLength(spreads);
    expect(ofKind(objects, "PodDisruptionBudget")).toHaveLength(budgets);
  });
});

test("leases of other namespaces are read only by an operator that watches all of them", async () => {
  const readsLeases = async (...settings: string[]) =>
    ofKind(await rendered(...settings), "ClusterRole")
      .flatMap(({ rules = [] }) => rules)
      .some(({ resources }) => resources?.includes("leases") === true);
  expect(await readsLeases()).toBe(true);
  expect(await readsLeases("--set=watchNamespaces={team-a}")).toBe(false);
});

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "mooring-alerts-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function promtool(cases: string): Promise<string> {
  const { stdout } = await promisify(execFile)(await tool("promtool"), ["test", "rules", cases]);
  return stdout;
}

describe("the dashboard with three processes", () => {
  /** The same series in each pod. */
  const seriesOf = (name: string, labels: string, values: readonly [number, number, number]) =>
    values.map((value, index) => ({
      series: `${name}{${labels === "" ? "" : `${labels},`}pod="${"abc"[index]}"}`,
      values: `${value}x5`,
    }));
  const stuck = 'kind="SpeechJob",namespace="team",state="Stalled"';
  const inNamespace = 'account="",namespace="team"';

  test.each([
    {
      title: "Unserved accounts",
      series: seriesOf("mooring_accounts_unserved", "", [0, 1, 2]),
      shows: [{ labels: "{}", value: 2 }],
    },
    {
      title: "Accounts by process",
      series: seriesOf("mooring_accounts_served", "", [0, 1, 2]),
      shows: [0, 1, 2].map((value) => ({ labels: `{pod="${"abc"[value]}"}`, value })),
    },
    {
      title: "Stuck objects",
      series: seriesOf("mooring_stuck_objects", stuck, [1, 2, 4]),
      shows: [{ labels: "{}", value: 7 }],
    },
    {
      title: "Drifting endpoints",
      series: seriesOf("mooring_namespace_endpoints_drifted", inNamespace, [1, 2, 4]),
      shows: [{ labels: "{}", value: 7 }],
    },
    {
      title: "Stuck objects by kind",
      series: seriesOf("mooring_stuck_objects", stuck, [1, 2, 4]),
      shows: [{ labels: '{kind="SpeechJob",state="Stalled"}', value: 7 }],
    },
    {
      title: "Age of the oldest stuck object",
      series: seriesOf("mooring_stuck_objects_oldest_seconds", stuck, [10, 20, 40]),
      shows: [{ labels: `{${stuck}}`, value: 40 }],
    },
    {
      title: "Jobs by phase",
      series: [
        ...seriesOf("mooring_jobs", 'kind="SpeechJob",phase="Running"', [1, 2, 4]),
        ...seriesOf("mooring_jobs", 'kind="VideoJob",phase="Running"', [10, 10, 10]),
      ],
      shows: [{ labels: '{phase="Running"}', value: 37 }],
    },
    {
      title: "Endpoints by state",
      series: seriesOf("mooring_endpoints", 'state="Ready"', [1, 2, 4]),
      shows: [{ labels: '{state="Ready"}', value: 7 }],
    },
    {
      title: "Drifting endpoints by namespace",
      series: seriesOf("mooring_namespace_endpoints_drifted", inNamespace, [1, 2, 4]),
      shows: [{ labels: '{namespace="team"}', value: 7 }],
    },
    {
      title: "Jobs that wait to be sent",
      series: seriesOf("mooring_namespace_jobs_waiting", inNamespace, [1, 2, 4]),
      shows: [{ labels: '{namespace="team"}', value: 7 }],
    },
    {
      title: "Age of the oldest waiting job",
      series: seriesOf("mooring_namespace_jobs_waiting_oldest_seconds", inNamespace, [10, 20, 40]),
      shows: [{ labels: '{namespace="team"}', value: 40 }],
    },
    {
      title: "Busy workers",
      series: [
        ...seriesOf("controller_runtime_active_workers", 'controller="speechjob"', [8, 4, 0]),
        ...seriesOf("controller_runtime_max_concurrent_reconciles", 'controller="speechjob"', [8, 8, 8]),
      ],
      shows: [{ labels: '{controller="speechjob"}', value: 1 }],
    },
  ])("$title", async ({ title, series, shows }) => {
    const dashboard: { panels: { title: string; targets?: { expr: string }[] }[] } = JSON.parse(
      await readFile(join(CHART, "files/dashboard.json"), "utf8"),
    );
    const panel = dashboard.panels.find((one) => one.title === title && one.targets !== undefined);
    const expr = panel?.targets?.[0]?.expr.replaceAll(/\$(account|namespace)\b/g, ".*");
    const samples = { expr, eval_time: "2m", exp_samples: shows };
    const cases = join(await temporaryFolder(), "cases.yaml");
    await writeFile(
      cases,
      JSON.stringify({ tests: [{ interval: "1m", input_series: series, promql_expr_test: [samples] }] }),
    );
    expect(await promtool(cases)).toContain("SUCCESS");
  });
});
