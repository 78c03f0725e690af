import { execFile } from "node:child_process";
import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { leaseNameOf, MAX_SHARDS, SHARD_INDEXES } from "../../src/operator/shard.ts";
import { tool } from "../../tools/programs/tool.ts";
import { CHART, helm, type Rendered, render } from "../support/chart.ts";

type Deployment = {
  spec: {
    selector: { matchLabels: Record<string, string> };
    template: { metadata: { labels: Record<string, string> }; spec: { containers: { args: string[] }[] } };
  };
};

const ofKind = (objects: readonly Rendered[], kind: string) => objects.filter((object) => object.kind === kind);
const shardArguments = ({ spec }: Deployment) =>
  (spec.template.spec.containers[0]?.args ?? []).filter((argument) => argument.startsWith("--shard"));

/** The Deployments of the operator, by name. */
async function deployments(...settings: string[]): Promise<Map<string, Deployment>> {
  const objects = await render("mooring-system", ...settings);
  return new Map(
    ofKind(objects, "Deployment").map((object) => [object.metadata.name, object as unknown as Deployment]),
  );
}

describe("the value shards", () => {
  test("1 is the Deployment without shards", async () => {
    const [[name, deployment] = [], ...others] = [...(await deployments())];
    expect([name, others]).toEqual(["mooring", []]);
    expect(deployment && shardArguments(deployment)).toEqual([]);
    expect(deployment?.spec.selector.matchLabels).not.toHaveProperty(["mooring.dev/shard"]);
  });

  test("3 is one Deployment for each shard, and each selects its own pods", async () => {
    const found = await deployments("--set=shards=3");
    expect([...found.keys()]).toEqual(["mooring-shard-0", "mooring-shard-1", "mooring-shard-2"]);
    for (const [index, deployment] of [...found.values()].entries()) {
      expect(shardArguments(deployment)).toEqual([`--shard=${index}/3`]);
      const { matchLabels } = deployment.spec.selector;
      expect(matchLabels["mooring.dev/shard"]).toBe(String(index));
      expect(deployment.spec.template.metadata.labels).toMatchObject(matchLabels);
    }
  });

  test("3 with one replica each has a disruption budget over all of them", async () => {
    const budgets = async (...settings: string[]) =>
      ofKind(await render("mooring-system", ...settings), "PodDisruptionBudget").length;
    expect(await budgets("--set=shards=3")).toBe(1);
    expect(await budgets()).toBe(0);
  });

  test("3 has an uninstall that stops each Deployment", async () => {
    const job = ofKind(await render("mooring-system", "--set=shards=3"), "Job").find(
      ({ metadata }) => metadata.name === "mooring-cleanup",
    );
    expect(JSON.stringify(job)).toContain("--stop-deployment=mooring-shard-0,mooring-shard-1,mooring-shard-2");
  });

  test("above 1 needs a volume that several nodes can mount", async () => {
    const settings = ["--set=shards=2", "--set=artifacts.persistence.enabled=true"];
    const { code, stderr } = await helm("template", "mooring", CHART, ...settings);
    expect(code).not.toBe(0);
    expect(stderr).toContain("shards above 1 need artifacts.persistence.accessModes with ReadWriteMany");
    expect((await deployments(...settings, "--set=artifacts.persistence.accessModes={ReadWriteMany}")).size).toBe(2);
  });

  test.each([0, MAX_SHARDS + 1])("%i is refused", async (shards) => {
    expect((await helm("template", "mooring", CHART, `--set=shards=${shards}`)).code).not.toBe(0);
  });
});

test("the Role names the lease of every shard, also with one: a change of the number needs those of before", async () => {
  const objects = await render("mooring-system");
  const role = ofKind(objects, "Role").find(({ metadata }) => metadata.name === "mooring-leader");
  const leases = (role?.rules ?? []).filter(({ resources }) => resources?.includes("leases") === true);
  expect(leases.flatMap(({ resourceNames = [] }) => resourceNames)).toEqual(SHARD_INDEXES.map(leaseNameOf));
  const schema = JSON.parse(await readFile(join(CHART, "values.schema.json"), "utf8"));
  expect(schema.properties.shards).toEqual({ type: "integer", minimum: 1, maximum: MAX_SHARDS });
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

test("with three shards, alerts fire for each shard without a leader, and count the objects of all shards", async () => {
  const folder = await temporaryFolder();
  const objects = await render("mooring-system", "--set=metrics.prometheusRule.enabled=true", "--set=shards=3");
  await writeFile(join(folder, "rules.yaml"), JSON.stringify(ofKind(objects, "PrometheusRule")[0]?.["spec"]));
  const cases = join(folder, "cases.yaml");
  await copyFile(fileURLToPath(new URL("alerts-shards.test.yaml", import.meta.url)), cases);
  expect(await promtool(cases)).toContain("SUCCESS");
});

describe("the dashboard with three shards of two replicas", () => {
  /** The same series in each pod of three shards. During a takeover, both replicas of shard 1 count its objects. */
  const seriesOf = (name: string, labels: string, [first, second, third]: readonly [number, number, number]) =>
    [
      { shard: 0, pod: "a", value: first },
      { shard: 0, pod: "b", value: 0 },
      { shard: 1, pod: "c", value: second },
      { shard: 1, pod: "d", value: second },
      { shard: 2, pod: "e", value: 0 },
      { shard: 2, pod: "f", value: third },
    ].map(({ shard, pod, value }) => ({
      series: `${name}{${labels === "" ? "" : `${labels},`}shard="${shard}",pod="${pod}"}`,
      values: `${value}x5`,
    }));
  const stuck = 'kind="SpeechJob",namespace="team",state="Stalled"';
  const inNamespace = 'account="",namespace="team"';

  test.each([
    {
      title: "Leaders",
      series: SHARD_INDEXES.slice(0, 3).flatMap((index) => [
        {
          series: `leader_election_master_status{name="${leaseNameOf(index)}",shard="${index}",pod="a"}`,
          values: "1x5",
        },
        {
          series: `leader_election_master_status{name="${leaseNameOf(index)}",shard="${index}",pod="b"}`,
          values: "0x5",
        },
      ]),
      shows: SHARD_INDEXES.slice(0, 3).map((index) => ({ labels: `{name="${leaseNameOf(index)}"}`, value: 1 })),
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
        ...seriesOf("controller_runtime_active_workers", 'controller="speechjob"', [8, 8, 8]),
        ...["a", "b", "c", "d", "e", "f"].map((pod, index) => ({
          series: `controller_runtime_max_concurrent_reconciles{controller="speechjob",shard="${Math.floor(index / 2)}",pod="${pod}"}`,
          values: "8x5",
        })),
      ],
      shows: [{ labels: '{controller="speechjob"}', value: 1 }],
    },
  ])("$title: replicas of a shard count once, and shards add up", async ({ title, series, shows }) => {
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
