import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { parse } from "yaml";
import { operatorMetrics } from "../../scripts/reference/metrics-page.ts";
import { flagOf, operatorConfigSchema } from "../../src/operator/config.ts";
import { tool } from "../../tools/programs/tool.ts";
import { CHART, helm, type Rendered, render } from "../support/chart.ts";
import { kubectlInNamespace } from "../support/kubectl.ts";

const { namespace, kubectl, accepted } = kubectlInNamespace("chart");
const valueSets = (await readdir(join(CHART, "ci"))).sort();
const valuesOf = (name: string) => ["--values", join(CHART, "ci", name)];
/** Each value set is rendered once. */
const renderings = new Map<string, Promise<Rendered[]>>();
function rendered(name: string): Promise<Rendered[]> {
  const objects = renderings.get(name) ?? render(namespace, ...valuesOf(name));
  renderings.set(name, objects);
  return objects;
}
const folder = await mkdtemp(join(tmpdir(), "mooring-chart-"));
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Kinds of other projects that the chart makes on request, with as much schema as naming them takes. */
const foreignKinds = [
  ["ServiceMonitor", "monitoring.coreos.com"],
  ["PodMonitor", "monitoring.coreos.com"],
  ["PrometheusRule", "monitoring.coreos.com"],
  ["HTTPRoute", "gateway.networking.k8s.io"],
].map(([kind = "", group]) => {
  const plural = `${kind.toLowerCase()}s`;
  const schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      name: `${plural}.${group}`,
      // The API server asks for it where the group is one of Kubernetes.
      annotations: { "api-approved.kubernetes.io": "unapproved, test only" },
    },
    spec: {
      group,
      names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase() },
      scope: "Namespaced",
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  };
});

beforeAll(async () => {
  for (const crd of foreignKinds) {
    expect((await kubectl(["apply", "-f", "-"], JSON.stringify(crd))).stderr).toBe("");
    await kubectl(["wait", "--for=condition=Established", `crd/${crd.metadata.name}`]);
  }
});
afterAll(async () => {
  for (const crd of foreignKinds) await kubectl(["delete", "crd", crd.metadata.name]);
});

test("helm lint --strict finds nothing", async () => {
  for (const name of valueSets)
    expect(await helm("lint", "--strict", CHART, ...valuesOf(name))).toMatchObject({ code: 0 });
});

describe("values", () => {
  test("are twelve sets at least", () => expect(valueSets.length).toBeGreaterThanOrEqual(12));

  test.each(valueSets)("%s are accepted by the API server", async (name) => {
    const objects = await rendered(name);
    await Promise.all(objects.map((object) => accepted(object, { dryRun: true, serverSide: true })));
  });

  test.each(valueSets)("%s make a ClusterAccount that the API server accepts, or none", async (name) => {
    const objects = await rendered(name);
    for (const { data } of objects) {
      const account = data?.["account.yaml"];
      if (account === undefined) continue;
      await accepted(parse(account), { dryRun: true });
    }
  });

  const componentOf = ({ labels }: Rendered["metadata"]) => labels?.["app.kubernetes.io/component"];

  test.each(valueSets)("%s start the operator with flags that it knows", async (name) => {
    const known = Object.keys(operatorConfigSchema.shape).map(flagOf);
    const containers = (await rendered(name))
      .filter(({ kind, metadata }) => kind === "Deployment" && componentOf(metadata) === "operator")
      .flatMap(
        ({ spec }) => (spec as { template: { spec: { containers: { args: string[] }[] } } }).template.spec.containers,
      );
    expect(containers.length).toBeGreaterThan(0);
    for (const { args } of containers) {
      expect(args[0]).toBe("operator");
      for (const argument of args.slice(1)) expect(known).toContain(argument.split("=")[0]);
    }
  });

  it.each([
    { settings: [], deadline: "1800s", grace: 1830 },
    { settings: ["--set", "stopDeadlineSeconds=90"], deadline: "90s", grace: 120 },
  ])("the pod's grace period is longer than the stop deadline of $deadline", async ({ settings, deadline, grace }) => {
    const { stdout } = await helm("template", "mooring", CHART, ...settings);
    expect(stdout).toContain(`- --stop-deadline=${deadline}`);
    expect(stdout).toContain(`terminationGracePeriodSeconds: ${grace}`);
  });

  it.each([
    ["replicas=2", "replicas"],
    ["image.tags=1", "tags"],
    ["crds.enable=true", "enable"],
    ["metrics.serviceMonitor.enable=true", "enable"],
    ["metrics.auth=token", "none"],
    ["defaultAccount.existingSecret.names=x", "names"],
    ["simulator.on=true", "on"],
    ["watchNamespaces={Not_A_Name}", "Not_A_Name"],
    ["logLevel=verbose", "logLevel"],
    ["networkPolicy.ingress=x", "ingress"],
    ["replicaCount=two", "replicaCount"],
    ["cleanup.timeout=60", "timeout"],
    ["stopDeadlineSeconds=0", "stopDeadlineSeconds"],
  ])("%s is refused by name", async (setting, named) => {
    const { code, stderr } = await helm("template", "mooring", CHART, "--set", setting);
    expect(code).not.toBe(0);
    expect(stderr).toContain(named);
  });

  it.each([
    [
      "an account without an address",
      ["defaultAccount.enabled=true,defaultAccount.apiKey=k"],
      "defaultAccount.baseURL is empty",
    ],
    [
      "an account without a key",
      ["defaultAccount.enabled=true,defaultAccount.baseURL=https://a.example.com"],
      "one of apiKey and existingSecret.name",
    ],
    ["profiles for everybody", ["metrics.profiling=true,metrics.auth=none"], "metrics.auth=token-review"],
    ["two default accounts", ["defaultAccount.enabled=true,simulator.enabled=true"], "set one of them to false"],
  ])("%s is refused with what to do", async (_, settings, message) => {
    const { code, stderr } = await helm("template", "mooring", CHART, ...settings.flatMap((one) => ["--set", one]));
    expect(code).not.toBe(0);
    expect(stderr).toContain(message);
  });

  describe("artifacts.persistence", () => {
    type Deployment = {
      strategy?: { type: string };
      template: {
        spec: {
          securityContext: { fsGroup: number };
          containers: { args: string[]; volumeMounts?: { name: string; mountPath: string }[] }[];
          volumes?: { name: string; persistentVolumeClaim?: { claimName: string } }[];
        };
      };
    };
    /** What the operator has of a volume, and the claims that are made, with these settings of artifacts.persistence. */
    async function volumeOf(...settings: string[]) {
      const set = settings.flatMap((one) => ["--set", `artifacts.persistence.${one}`]);
      const objects = await render(namespace, ...set);
      const deployment = objects.find(({ kind }) => kind === "Deployment") ?? expect.fail("there is no Deployment");
      const { strategy, template } = deployment["spec"] as Deployment;
      const [container] = template.spec.containers;
      const mount = container?.volumeMounts?.find(({ name }) => name === "artifacts");
      return {
        root: container?.args.find((argument) => argument.startsWith("--artifact-root"))?.split("=")[1],
        mount: mount?.mountPath,
        claim: template.spec.volumes?.find(({ name }) => name === "artifacts")?.persistentVolumeClaim?.claimName,
        group: template.spec.securityContext.fsGroup,
        strategy: strategy?.type,
        made: objects.filter(({ kind }) => kind === "PersistentVolumeClaim").map(({ metadata }) => metadata.name),
      };
    }
    const place = "/var/lib/mooring/artifacts";

    test("is off by default", async () =>
      expect(await volumeOf()).toMatchObject({ root: undefined, mount: undefined, claim: undefined, made: [] }));

    test("mounts a claim of its own where the operator keeps artifacts, writable for it", async () =>
      expect(await volumeOf("enabled=true")).toEqual({
        root: place,
        mount: place,
        claim: "mooring-artifacts",
        group: 65532,
        strategy: "Recreate",
        made: ["mooring-artifacts"],
      }));

    test("mounts an existing claim; pods overlap if the claim allows several nodes", async () =>
      expect(await volumeOf("enabled=true", "existingClaim=nfs", "accessModes={ReadWriteMany}")).toMatchObject({
        mount: place,
        claim: "nfs",
        strategy: undefined,
        made: [],
      }));
  });

  test("are each in the schema and in values.yaml", async () => {
    const schema = JSON.parse(await readFile(join(CHART, "values.schema.json"), "utf8"));
    const paths = (properties: Record<string, { properties?: object }>, prefix = ""): string[] =>
      Object.entries(properties).flatMap(([key, value]) =>
        value.properties === undefined
          ? [`${prefix}${key}`]
          : paths(value.properties as Parameters<typeof paths>[0], `${prefix}${key}.`),
      );
    const values = parse(await readFile(join(CHART, "values.yaml"), "utf8"));
    const has = (path: string) =>
      path.split(".").reduce<unknown>((node, key) => (node as Record<string, unknown> | undefined)?.[key], values);
    const known = paths(schema.properties).filter((path) => path !== "global");
    for (const path of known) expect(has(path), path).toBeDefined();
  });
});

describe("pods", () => {
  beforeAll(async () => {
    const labels = { "pod-security.kubernetes.io/enforce": "restricted" };
    const enforced = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace, labels } };
    await accepted(enforced, { serverSide: true });
  });

  test.each(valueSets)("of %s fit the restricted Pod Security standard", async (name) => {
    const objects = await rendered(name);
    const templates: { metadata: object; spec: unknown }[] = objects.flatMap(({ kind, metadata, spec }) => {
      if (kind === "Pod") return [{ metadata, spec }];
      return kind === "Deployment" || kind === "Job"
        ? [(spec as { template: { metadata: object; spec: unknown } }).template]
        : [];
    });
    expect(templates.length).toBeGreaterThan(0);
    for (const { metadata, spec } of templates) {
      // Its service account and priority are not there; what is asked here is the pod's security alone.
      const { serviceAccountName: _, priorityClassName: __, ...rest } = spec as Record<string, unknown>;
      const pod = { apiVersion: "v1", kind: "Pod", metadata: { ...metadata, name: "probe", namespace }, spec: rest };
      await accepted(pod, { dryRun: true });
    }
  });
});

describe("monitoring", () => {
  /** Every series that an operator exports, by name. */
  const exported = (): Set<string> =>
    new Set([
      "process_start_time_seconds",
      ...operatorMetrics().flatMap(({ name, type }) =>
        type === "histogram" ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
      ),
    ]);
  const namesIn = (expression: string) =>
    [
      ...expression
        .replaceAll(/"[^"]*"/g, '""')
        .replaceAll(/\{[^}]*\}/g, "")
        .matchAll(/\b[a-z]+(?:_[a-z0-9]+)+\b/g),
    ]
      .map(([name]) => name)
      .filter(
        (name) =>
          !["histogram_quantile", "min_over_time", "max_over_time", "absent_over_time", "predict_linear"].includes(
            name,
          ),
      );

  test("promtool accepts the rules", async () => {
    const [rule] = (await rendered("05-monitoring-values.yaml")).filter(({ kind }) => kind === "PrometheusRule");
    const path = join(folder, "rules.yaml");
    await writeFile(path, JSON.stringify(rule?.spec));
    const { stdout } = await promisify(execFile)(await tool("promtool"), ["check", "rules", path]);
    expect(stdout).toMatch(/SUCCESS: 12 rules found/);
  });

  test.each([
    { values: "05-monitoring-values.yaml", page: "https://docs.example.com/mooring/how-to/alerts" },
    { values: "13-names-values.yaml", page: "docs/how-to/alerts.md" },
  ])("$values: each alert links to its runbook, and is otherwise as in the chart", async ({ values, page }) => {
    const [rule] = (await rendered(values)).filter(({ kind }) => kind === "PrometheusRule");
    const alerts: { groups: { rules: { alert: string; annotations: Record<string, string> }[] }[] } = parse(
      await readFile(join(CHART, "files/alerts.yaml"), "utf8"),
    );
    for (const { alert, annotations } of alerts.groups.flatMap(({ rules }) => rules)) {
      annotations["runbook_url"] = `${page}#${alert.toLowerCase()}`;
    }
    expect(rule?.spec).toEqual(alerts);
  });

  test("an alert can be left out", async () => {
    const only = "metrics.prometheusRule.enabled=true";
    const [rule] = (
      await render(namespace, "--set", only, "--set", "metrics.prometheusRule.disabledAlerts={MooringBillsStale}")
    ).filter(({ kind }) => kind === "PrometheusRule");
    expect(JSON.stringify(rule)).toContain("MooringKeyRefused");
    expect(JSON.stringify(rule)).not.toContain("MooringBillsStale");
  });

  test("an alert that does not exist cannot be left out", async () => {
    const { code, stderr } = await helm(
      ...["template", CHART, "--set", "metrics.prometheusRule.enabled=true"],
      ...["--set", "metrics.prometheusRule.disabledAlerts={MooringBillsOld}"],
    );
    expect(code).not.toBe(0);
    expect(stderr).toContain('disabledAlerts has "MooringBillsOld", which is no alert: use MooringAccountsNotServed');
  });

  test("the rules fire when they should, and not before", async () => {
    const path = fileURLToPath(new URL("alerts.test.yaml", import.meta.url));
    const { stdout } = await promisify(execFile)(await tool("promtool"), ["test", "rules", path]);
    expect(stdout).toContain("SUCCESS");
  });

  test("rules and dashboard name only metrics that exist", async () => {
    const known = exported();
    const rules = parse(await readFile(join(CHART, "files/alerts.yaml"), "utf8"));
    const dashboard = JSON.parse(await readFile(join(CHART, "files/dashboard.json"), "utf8"));
    const expressions: string[] = [
      ...rules.groups.flatMap((group: { rules: { expr: string }[] }) => group.rules.map(({ expr }) => expr)),
      ...dashboard.panels.flatMap((panel: { targets?: { expr: string }[] }) =>
        (panel.targets ?? []).map(({ expr }) => expr),
      ),
    ];
    expect(expressions.length).toBeGreaterThan(20);
    for (const expression of expressions) {
      const names = namesIn(expression);
      expect(names.length, expression).toBeGreaterThan(0);
      for (const name of names) expect(known, expression).toContain(name);
    }
  });

  test("the dashboard arrives in its ConfigMap as it is in the chart", async () => {
    const objects = await rendered("05-monitoring-values.yaml");
    const [dashboard] = objects.flatMap(({ data }) => data?.["mooring.json"] ?? []);
    expect(JSON.parse(dashboard ?? "")).toMatchObject({ uid: "mooring" });
  });
});
