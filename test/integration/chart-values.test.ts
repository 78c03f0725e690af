import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, inject, it, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { chartValues } from "../../scripts/chart-values.ts";
import { tool } from "../../tools/programs/tool.ts";
import { CHART, helm, type Rendered, render } from "../support/chart.ts";
import { run } from "../support/run.ts";

const ofKind = (objects: readonly Rendered[], kind: string) => objects.filter((object) => object.kind === kind);
const specOf = async (kind: string, ...settings: string[]) => {
  const [object] = ofKind(await render("mooring-system", ...settings.map((one) => `--set=${one}`)), kind);
  return object?.["spec"] ?? expect.fail(`there is no ${kind}`);
};

describe("values that other charts have, too", () => {
  test("replicaCount, strategy, dnsPolicy and dnsConfig reach the Deployment", async () => {
    const settings = [
      "replicaCount=3",
      "strategy.type=Recreate",
      "dnsPolicy=Default",
      "dnsConfig.nameservers={10.0.0.10}",
    ];
    expect(await specOf("Deployment", ...settings)).toMatchObject({
      replicas: 3,
      strategy: { type: "Recreate" },
      template: { spec: { dnsPolicy: "Default", dnsConfig: { nameservers: ["10.0.0.10"] } } },
    });
  });

  it.each([
    { settings: [], budget: { maxUnavailable: 1 } },
    { settings: ["podDisruptionBudget.minAvailable=2"], budget: { minAvailable: 2 } },
    { settings: ["podDisruptionBudget.minAvailable=50%"], budget: { minAvailable: "50%" } },
  ])("a PodDisruptionBudget has $budget", async ({ settings, budget }) => {
    const { minAvailable, maxUnavailable } = (await specOf(
      "PodDisruptionBudget",
      "replicaCount=3",
      ...settings,
    )) as Record<string, unknown>;
    expect({ minAvailable, maxUnavailable }).toEqual(budget);
  });

  test("extraObjects are objects or text, with templates", async () => {
    const objects = await render("mooring-system", "--values", join(CHART, "ci/12-locked-down-values.yaml"));
    const names = ofKind(objects, "ConfigMap").map(({ metadata }) => metadata.name);
    expect(names).toEqual(["mooring-authorities", "mooring-notes"]);
  });
});

describe("a scrape", () => {
  const monitors = ["ServiceMonitor", "PodMonitor"] as const;
  const endpointOf = async (kind: (typeof monitors)[number], ...settings: string[]) => {
    const name = kind === "ServiceMonitor" ? "serviceMonitor" : "podMonitor";
    const spec = (await specOf(kind, `metrics.${name}.enabled=true`, ...settings)) as Record<string, unknown>;
    const [endpoint] = (spec["endpoints"] ?? spec["podMetricsEndpoints"]) as Record<string, unknown>[];
    return endpoint;
  };

  test.each(monitors)(
    "by a %s has the token of a service account that may read the metrics, and nothing else",
    async (kind) => {
      expect((await endpointOf(kind))?.["authorization"]).toEqual({
        credentials: { name: "mooring-scraper", key: "token" },
      });
      const name = kind === "ServiceMonitor" ? "serviceMonitor" : "podMonitor";
      const objects = await render("mooring-system", `--set=metrics.${name}.enabled=true`);
      const [secret] = ofKind(objects, "Secret");
      expect(secret).toMatchObject({
        type: "kubernetes.io/service-account-token",
        metadata: { annotations: { "kubernetes.io/service-account.name": "mooring-scraper" } },
      });
      const bindings = objects.filter(({ subjects }) => JSON.stringify(subjects ?? []).includes('"mooring-scraper"'));
      expect(bindings.map(({ roleRef }) => roleRef)).toEqual([
        expect.objectContaining({ name: "mooring-system-mooring-metrics-reader" }),
      ]);
      const role = objects.find(({ metadata }) => metadata.name === "mooring-system-mooring-metrics-reader");
      expect(role?.rules).toEqual([{ nonResourceURLs: ["/metrics"], verbs: ["get"] }]);
    },
  );

  test.each(monitors)("by a %s can have a token of yours, relabelings, or no token", async (kind) => {
    const name = kind === "ServiceMonitor" ? "serviceMonitor" : "podMonitor";
    expect(
      (await endpointOf(kind, "metrics.scrapeSecret.name=mine", "metrics.scrapeSecret.key=t"))?.["authorization"],
    ).toEqual({ credentials: { name: "mine", key: "t" } });
    expect(
      ofKind(
        await render("mooring-system", `--set=metrics.${name}.enabled=true,metrics.scrapeSecret.name=mine`),
        "Secret",
      ),
    ).toEqual([]);
    const relabeling = { action: "labeldrop", regex: "pod" };
    const settings = ["relabelings", "metricRelabelings"].flatMap((list) =>
      Object.entries(relabeling).map(([key, value]) => `metrics.${name}.${list}[0].${key}=${value}`),
    );
    const open = await endpointOf(kind, "metrics.auth=none", ...settings);
    expect(open).toMatchObject({ relabelings: [relabeling], metricRelabelings: [relabeling] });
    expect(open).not.toHaveProperty("authorization");
  });

  test("needs a token by default", async () => {
    expect(JSON.stringify(await specOf("Deployment"))).toContain("--metrics-auth=token-review");
  });
});

describe("the cleanup Job", () => {
  const jobs = (text: string) =>
    parseAllDocuments(text).flatMap((document) => {
      const { kind, metadata } = (document.toJS() ?? {}) as Rendered;
      return kind === "Job" ? [metadata.name] : [];
    });

  test("is not in the output of helm template, which kubectl apply would run, unless asked for", async () => {
    const rendered = async (...args: string[]) => jobs((await helm("template", "mooring", CHART, ...args)).stdout);
    expect(await rendered()).toEqual([]);
    expect(await rendered("--set=cleanup.inTemplate=true")).toEqual(["mooring-cleanup"]);
  });

  test("is a hook of an install", async () => {
    const args = [
      "install",
      "mooring",
      CHART,
      "--dry-run=server",
      `--kubeconfig=${inject("kubeconfig")}`,
      "--set=crds.enabled=false",
    ];
    const { code, stdout, stderr } = await run(await tool("helm"), args);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    const [manifests = ""] = stdout.split("\nNOTES:");
    expect(manifests).toContain("helm.sh/hook: pre-delete");
    expect(manifests).toContain("name: mooring-cleanup");
    const without = await run(await tool("helm"), [...args, "--set=cleanup.enabled=false"]);
    expect(without.stdout).not.toContain("mooring-cleanup");
  });
});

test("every value has a description in the schema, and in the README", async () => {
  const read = (name: string) => readFile(join(CHART, name), "utf8");
  const values = chartValues(await read("values.yaml"), JSON.parse(await read("values.schema.json")));
  expect(values.length).toBeGreaterThan(100);
  expect(values.filter(({ description }) => description === "")).toEqual([]);
  const readme = await read("README.md");
  for (const { path, fallback } of values) if (fallback !== undefined) expect(readme).toContain(`| \`${path}\` |`);
});
