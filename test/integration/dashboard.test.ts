import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { traceIdOf } from "../../src/tracing/trace-context.ts";
import { startGuarded } from "../../tools/cluster/guarded.ts";
import { freePorts } from "../../tools/cluster/ports.ts";
import { waitUntil } from "../../tools/cluster/wait-until.ts";
import { tool } from "../../tools/programs/tool.ts";
import { CHART } from "../support/chart.ts";
import { manifest } from "../support/manifests.ts";
import { createScene } from "../support/page-scene.ts";
import { eventually, type World, waitForCondition } from "../support/world.ts";

const PROGRAM = "prometheus";

/** One series of the result of an instant query. */
type Sample = { metric: Record<string, string>; value: [number, string] };
type Exemplar = { labels: Record<string, string>; value: string };

type Prometheus = {
  /** The result of an instant query now; rejects when Prometheus refuses the expression. */
  query(expression: string): Promise<Sample[]>;
  /** The exemplars of the series that the expression selects. */
  exemplars(expression: string): Promise<Exemplar[]>;
  stop(): Promise<void>;
};

/** A real Prometheus that scrapes `targets` (URLs of metrics pages by job) once a second. */
async function startPrometheus(targets: Readonly<Record<string, string>>): Promise<Prometheus> {
  const program = await tool("prometheus");
  const guarded = await startGuarded();
  try {
    const [port = 0] = await freePorts(1);
    const config = join(guarded.dir, "prometheus.yml");
    const scrapes = Object.entries(targets).map(([job, url]) => ({
      job_name: job,
      metrics_path: new URL(url).pathname,
      // As the ServiceMonitor of the chart.
      honor_labels: true,
      static_configs: [{ targets: [new URL(url).host] }],
    }));
    await writeFile(
      config,
      stringify({ global: { scrape_interval: "1s", scrape_timeout: "1s" }, scrape_configs: scrapes }),
    );
    const address = `127.0.0.1:${port}`;
    await guarded.start(PROGRAM, program, [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(guarded.dir, "data")}`,
      `--web.listen-address=${address}`,
      "--enable-feature=exemplar-storage",
    ]);
    const isReady = () =>
      fetch(`http://${address}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      );
    await waitUntil("prometheus is ready", isReady, { timeoutMs: 60_000, signal: guarded.failed });

    async function ask<T>(path: string, query: string, range: Record<string, string> = {}): Promise<T> {
      const answer = await fetch(`http://${address}/api/v1/${path}?${new URLSearchParams({ query, ...range })}`);
      const body = (await answer.json()) as { status: string; error?: string; data: T };
      if (body.status !== "success") throw new Error(`${query}: ${body.error}`);
      return body.data;
    }
    return {
      async query(expression) {
        const { resultType, result } = await ask<{ resultType: string; result: Sample[] }>("query", expression);
        if (resultType !== "vector") throw new Error(`${expression}: a ${resultType} instead of a vector`);
        return result;
      },
      async exemplars(expression) {
        const range = { start: String(Date.now() / 1000 - 3600), end: String(Date.now() / 1000 + 60) };
        const series = await ask<{ exemplars: Exemplar[] }[]>("query_exemplars", expression, range);
        return series.flatMap(({ exemplars }) => exemplars);
      },
      stop: guarded.stop,
    };
  } catch (error) {
    const output = await guarded.output(PROGRAM);
    await guarded.stop();
    throw new Error(`prometheus did not start: ${String(error)}\n${output.slice(-2000)}`, { cause: error });
  }
}

type Panel = { title: string; type: string; targets?: { expr: string; exemplar?: boolean }[] };
type Alert = { alert: string; expr: string };

const dashboard: { panels: Panel[] } = JSON.parse(await readFile(join(CHART, "files/dashboard.json"), "utf8"));
const rules: { groups: { rules: Alert[] }[] } = parse(await readFile(join(CHART, "files/alerts.yaml"), "utf8"));
const queries = dashboard.panels.flatMap(({ title, targets = [] }) => targets.map((target) => ({ title, ...target })));
const alerts = rules.groups.flatMap((group) => group.rules);

/** What has no result in the scene below, and why. */
const EMPTY: Readonly<Record<string, string>> = {
  "Operations that Mooring stopped calling": "the service answers, so no operation is stopped",
  MooringAccountsNotServed: "a process serves the account",
  MooringProcessRestarts: "no process ends",
  MooringEtcdRestored: "etcd is not restored",
  MooringAccountNotReady: "the account can be used",
  MooringKeyRefused: "the service accepts the key",
  MooringBudgetExceeded: "the budget is not exceeded",
  MooringBillsStale: "the bills can be read",
  MooringServiceErrors: "fewer than a fifth of the requests of each operation fail",
  MooringReconcileErrors: "no reconcile fails",
  MooringQueueNotDrained: "fewer than 100 objects wait",
};

/** As Grafana fills in its variables. */
const filled = (expression: string) =>
  expression.replaceAll("$__rate_interval", "5m").replaceAll(/\$(account|namespace)\b/g, ".*");

describe("what a real Prometheus recorded of an operator with stuck, drifting and waiting objects", () => {
  let world: World;
  let prometheus: Prometheus;
  beforeAll(async () => {
    // Nothing answers there: the operator exports its traces in vain.
    const scene = await createScene("dashboard", ["--otlp-endpoint=http://127.0.0.1:9"]);
    world = scene.world;
    const port = /"metrics":(\d+)/.exec(scene.operator.log())?.[1];
    prometheus = await startPrometheus({ mooring: `http://127.0.0.1:${port}/metrics` });
    await eventually("Prometheus has the operator's metrics", async () => (await value("mooring_jobs")) !== undefined);
    await happen();
  });
  afterAll(() => prometheus?.stop());

  /** The first sample that is a number. */
  async function value(expression: string): Promise<number | undefined> {
    const samples = await prometheus.query(filled(expression));
    return samples.map((sample) => Number(sample.value[1])).find((number) => !Number.isNaN(number));
  }

  /**
   * What rates count happens while Prometheus looks: a rate begins with the second sample. The budget falls fast enough for
   * MooringBudgetLow.
   */
  async function happen(): Promise<void> {
    await world.control("POST", "/__faults", { kind: "status", operation: "listBills", status: 500 });
    await world.control("POST", "/__config", { speechTaskMs: [10, 20] });
    const drifted = await world.get("GpuEndpoint", "drifted");
    const runs = (image: unknown) =>
      world.control("POST", `/__state/endpoints/${String(drifted.status?.["endpointID"])}`, { image: { image } });
    await runs(drifted.spec["image"]);
    await eventually("a drift has ended", () => increased("mooring_endpoint_drift_seconds_count"));
    await runs("registry.example.com/models/echo:0.9");
    await waitForCondition(world, "GpuEndpoint", "drifted", "Synced", "False");
    await world.apply(manifest("endpoint", {}, "new"));
    await waitForCondition(world, "GpuEndpoint", "new", "Ready");
    await world.apply(manifest("hd", { text: "One more." }, "one-more"));
    await waitForCondition(world, "SpeechJob", "one-more", "Complete");
    const charge = {
      time: new Date().toISOString(),
      amount: 10_000,
      productName: "speech-2.6-hd",
      category: "gen_api",
    };
    await world.control("POST", "/__state/charges", [charge]);
    await eventually("the budget falls", async () => ((await value("delta(mooring_budget_left_yuan[5m])")) ?? 0) < 0);
    const limited = await world.patch("Account", "default", { spec: { maxConcurrentTasks: 1 } });
    await eventually("the limit applies", async () => {
      const { status } = await world.get("Account", "default");
      return status?.["observedGeneration"] === limited.metadata.generation;
    });
    for (const name of ["waits-1", "waits-2"]) await world.apply(manifest("hd", { text: "Waits." }, name));
    const waiting = 'mooring_namespace_jobs_waiting{namespace!=""}';
    await eventually("jobs wait", async () => (await value(waiting)) === 2);
  }

  const increased = async (counter: string) => ((await value(`increase(${counter}[5m])`)) ?? 0) > 0;

  it.each(queries)("$title: $expr", async ({ title, expr }) => {
    if (title in EMPTY) expect(await prometheus.query(filled(expr))).toEqual([]);
    else await eventually("the query has a result", async () => (await value(expr)) !== undefined);
  });

  it.each(alerts)("$alert", async ({ alert, expr }) => {
    const samples = await prometheus.query(expr);
    if (alert in EMPTY) expect(samples).toEqual([]);
    else expect(samples.length).toBeGreaterThan(0);
  });

  it("shows what the scene has", async () => {
    const shown = async (title: string) => value(queries.find((query) => query.title === title)?.expr ?? "");
    expect(await shown("Stuck objects")).toBe(1);
    expect(await shown("Drifting endpoints")).toBe(1);
    expect(await shown("Age of the oldest drift")).toBeGreaterThan(0);
    expect(await shown("Age of the oldest stuck object")).toBeGreaterThan(0);
    expect(await shown("Jobs that wait to be sent")).toBe(2);
    expect(await value('mooring_account_limit_used{limit="Tasks"} / mooring_account_limit{limit="Tasks"}')).toBe(1);
    expect(await value('mooring_account_limit{limit="MonthlyYuan"}')).toBe(200);
    expect(await value('mooring_account_limit{limit="KeyYuan"}')).toBe(90);
  });

  it("the values that the variables offer are those of the scene", async () => {
    expect(await value(`count(mooring_account_ready{account="Account/${world.namespace}/default"})`)).toBe(1);
    const own = `count({__name__=~"mooring_(namespace|stuck|estimated)_.+",namespace="${world.namespace}"})`;
    expect(await value(own)).toBeGreaterThan(0);
  });

  it("exemplars lead from a wait or a duration to the trace of its job", async () => {
    const jobs = [...(await world.list("SpeechJob")), ...(await world.list("VideoJob"))];
    const traces = new Set(jobs.map((job) => traceIdOf(job)));
    const withExemplars = queries.filter(({ exemplar }) => exemplar === true);
    expect(withExemplars).toHaveLength(3);
    for (const { expr } of withExemplars) {
      const found = await eventually(`exemplars of ${expr}`, async () => {
        const exemplars = await prometheus.exemplars(filled(expr));
        return exemplars.length > 0 && exemplars;
      });
      for (const { labels } of found) expect(traces).toContain(labels["trace_id"]);
    }
  });
});
