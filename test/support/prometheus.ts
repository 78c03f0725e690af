import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import { startGuarded } from "../../tools/cluster/guarded.ts";
import { freePorts } from "../../tools/cluster/ports.ts";
import { waitUntil } from "../../tools/cluster/wait-until.ts";
import { tool } from "../../tools/programs/tool.ts";

const PROGRAM = "prometheus";

/** One series of the result of an instant query. */
export type Sample = { metric: Record<string, string>; value: [number, string] };
export type Exemplar = { labels: Record<string, string>; value: string };

export type Prometheus = {
  /** The result of an instant query now; rejects when Prometheus refuses the expression. */
  query(expression: string): Promise<Sample[]>;
  /** The exemplars of the series that the expression selects. */
  exemplars(expression: string): Promise<Exemplar[]>;
  stop(): Promise<void>;
};

/** A real Prometheus that scrapes `targets` (URLs of metrics pages by job) once a second. */
export async function startPrometheus(targets: Readonly<Record<string, string>>): Promise<Prometheus> {
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
