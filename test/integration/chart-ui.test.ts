import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, inject, it, onTestFinished, test } from "vitest";
import { parse, stringify } from "yaml";
import { createProgram } from "../../src/cli/program.ts";
import type { MoneyView, ObjectView, RowPage, SessionState } from "../../src/ui/view-types.ts";
import { CHART, type Rendered, render } from "../support/chart.ts";
import { manifest } from "../support/manifests.ts";
import { run } from "../support/run.ts";
import { startUi } from "../support/ui-process.ts";
import { createWorld, eventually } from "../support/world.ts";

type Kubeconfig = { users: { user: object }[] };

/** A kubeconfig of the tests' API server for the owner of a token. */
async function kubeconfigOf(token: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "mooring-ui-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const config: Kubeconfig = parse(await readFile(inject("kubeconfig"), "utf8"));
  for (const entry of config.users) entry.user = { token };
  const path = join(folder, "kubeconfig");
  await writeFile(path, stringify(config));
  return path;
}

const kubectl = async (input: string, ...args: string[]): Promise<string> => {
  const { code, stdout, stderr } = await run(inject("kubectl"), ["--kubeconfig", inject("kubeconfig"), ...args], {
    input,
  });
  expect(code, stderr).toBe(0);
  return stdout.trim();
};

describe("the web page of the chart", () => {
  it("shows objects, events and spending with the permissions that the chart gives it, and has no others", async () => {
    const world = await createWorld("chart-ui");
    const { namespace } = world;
    await world.startOperator();
    await world.apply(manifest("turbo", {}, "greeting"));
    const objects = await render(namespace, "--set", `ui.enabled=true,watchNamespaces={${namespace}}`);
    const ours = objects.filter(
      ({ kind, metadata }) =>
        metadata.labels?.["app.kubernetes.io/component"] === "ui" && /Role|ServiceAccount/.test(kind ?? ""),
    );
    await kubectl(ours.map((object) => stringify(object)).join("---\n"), "apply", "-n", namespace, "-f", "-");
    onTestFinished(async () => {
      for (const kind of ["clusterrole", "clusterrolebinding"])
        await kubectl("", "delete", kind, `${namespace}-mooring-ui`);
    });
    const token = await kubectl("", "create", "token", "-n", namespace, "mooring-ui");
    const kubeconfig = await kubeconfigOf(token);
    const ui = await startUi("--auth=none", `--namespace=${namespace}`, `--kubeconfig=${kubeconfig}`);
    try {
      const get = async <T>(path: string): Promise<T> => (await (await fetch(`${ui.origin}/api/${path}`)).json()) as T;
      const state = await eventually("the lists are read", async () => {
        const now = await get<SessionState>("state");
        return now.synced && now;
      });
      expect(state.kinds.filter(({ problem }) => problem !== undefined)).toEqual([]);
      const { total } = await get<RowPage>("rows?view=jobs");
      expect(total).toBe(1);
      await eventually("the events are in the timeline", async () => {
        const { history, eventsMissing } = await get<ObjectView>(`objects/SpeechJob/${namespace}/greeting`);
        expect(eventsMissing).toBeUndefined();
        return history.some(({ what }) => what === "Event");
      });
      const { accounts } = await get<MoneyView>("money");
      expect(accounts.filter(({ kind }) => kind === "Account")).toMatchObject([{ namespace, name: "default" }]);
    } finally {
      await ui.stop();
    }
    const { stdout } = await run(inject("kubectl"), [
      "--kubeconfig",
      kubeconfig,
      "auth",
      "can-i",
      "--list",
      "-n",
      namespace,
    ]);
    expect(stdout).toContain("speechjobs.mooring.dev");
    expect(stdout).not.toMatch(/secrets|configmaps/);
    expect(stdout).not.toMatch(/mooring\.dev .*(patch|update|delete|create)/);
  });

  test("is off by default, and listens inside its pod only unless it has a Service", async () => {
    const named = async (...args: string[]) =>
      (await render("mooring-system", ...args)).filter(({ metadata }) => metadata.name.endsWith("-ui"));
    expect(await named()).toEqual([]);
    const objects = await named("--set", "ui.enabled=true");
    expect(objects.map(({ kind }) => kind)).not.toContain("Service");
    expect(JSON.stringify(objects)).toContain("--bind-address=127.0.0.1:8091");
    expect(objects.find(({ kind }) => kind === "NetworkPolicy")?.spec).toMatchObject({ ingress: [] });
  });

  test("has no permissions of its own where each user has a token", async () => {
    const objects = await render(
      "mooring-system",
      "--set",
      "ui.enabled=true,ui.auth=bearer-token,ui.service.enabled=true",
    );
    const subjects = objects.flatMap((object) => (Array.isArray(object["subjects"]) ? object["subjects"] : []));
    expect(subjects.filter(({ name }) => name === "mooring-ui")).toEqual([]);
    expect(JSON.stringify(objects)).toContain("--auth=bearer-token");
  });

  test.each([
    "ui.enabled=true,watchNamespaces={a},allowPrivateNetworks=true,artifacts.persistence.enabled=true,artifacts.persistence.accessModes={ReadWriteMany}",
    "ui.enabled=true,ui.auth=bearer-token,ui.service.enabled=true,ui.allowedHosts={mooring.example.com}",
  ])("starts mooring ui with flags that it knows: %s", async (settings) => {
    const objects = await render("mooring-system", "--set", settings);
    const deployments = objects.filter(({ kind, metadata }) => kind === "Deployment" && metadata.name === "mooring-ui");
    const containers = deployments.flatMap(({ spec }) => (spec as Pod).template.spec.containers);
    const [command, ...flags] = containers.flatMap(({ args }) => args);
    const known = (await createProgram()).commands
      .find((one) => one.name() === command)
      ?.options.map(({ long }) => long);
    expect(command).toBe("ui");
    expect(flags.length).toBeGreaterThan(3);
    for (const flag of flags) expect(known).toContain(flag.split("=")[0]);
  });

  type Pod = { template: { spec: { containers: { name: string; args: string[] }[] } } };
  type Policy = { ingress: { ports: { port: number }[] }[] };
  const specOf = (objects: Rendered[], kind: string) =>
    objects.find((object) => object.kind === kind && object.metadata.name === "mooring-ui")?.spec;
  const rendered = (values: string) => render("mooring-system", "--values", join(CHART, "ci", values));

  test("behind an Ingress with OpenID Connect, only the proxy reaches the page, and passes on the user's token", async () => {
    const objects = await rendered("16-ui-ingress-values.yaml");
    const { containers } = (specOf(objects, "Deployment") as Pod).template.spec;
    const [page, proxy] = containers.map(({ args }) => args);
    expect(page).toContain("--bind-address=127.0.0.1:8091");
    expect(page).toContain("--auth=bearer-token");
    expect(page).toContain("--allowed-hosts=mooring.example.com,mooring.internal.example.com");
    expect(proxy).toEqual(
      expect.arrayContaining([
        "--oidc-issuer-url=https://login.example.com/realms/team",
        "--client-id=kubernetes",
        "--redirect-url=https://mooring.example.com/oauth2/callback",
        "--upstream=http://127.0.0.1:8091/",
        "--pass-authorization-header=true",
        "--allowed-group=video",
      ]),
    );
    expect(JSON.stringify(proxy)).not.toMatch(/secret=/);
    expect(specOf(objects, "Service")).toMatchObject({ ports: [{ port: 8091, targetPort: "proxy" }] });
    expect((specOf(objects, "NetworkPolicy") as Policy).ingress.flatMap(({ ports }) => ports)).toMatchObject([
      { port: 4180 },
    ]);
    const backend = { service: { name: "mooring-ui", port: { name: "http" } } };
    expect(specOf(objects, "Ingress")).toMatchObject({
      ingressClassName: "nginx",
      tls: [{ secretName: "mooring-ui-tls" }],
      rules: ["mooring.example.com", "mooring.internal.example.com"].map((host) => ({
        host,
        http: { paths: [{ path: "/", backend }] },
      })),
    });
  });

  test("behind a Gateway that signs users in, the route leads to the page, whose stream of changes does not end", async () => {
    const objects = await rendered("16-ui-http-route-values.yaml");
    expect((specOf(objects, "Deployment") as Pod).template.spec.containers.map(({ name }) => name)).toEqual(["ui"]);
    expect(specOf(objects, "Service")).toMatchObject({ ports: [{ port: 8091, targetPort: "page" }] });
    expect((specOf(objects, "NetworkPolicy") as Policy).ingress.flatMap(({ ports }) => ports)).toMatchObject([
      { port: 8091 },
    ]);
    expect(specOf(objects, "HTTPRoute")).toMatchObject({
      parentRefs: [{ name: "public", namespace: "gateways", sectionName: "https" }],
      hostnames: ["mooring.example.com"],
      rules: [{ backendRefs: [{ name: "mooring-ui", port: 8091 }], timeouts: { request: "0s" } }],
    });
  });

  const OPEN = "ui.auth=bearer-token,ui.service.enabled=true";
  test.each([
    { settings: "ui.service.enabled=true", message: "lets everyone in the cluster read" },
    { settings: "ui.auth=bearer-token", message: "needs ui.service.enabled" },
    { settings: "ui.auth=password", message: "ui" },
    { settings: "ui.ingress.enabled=true", message: "ui.auth bearer-token" },
    { settings: "ui.httpRoute.enabled=true", message: "ui.auth bearer-token" },
    { settings: "ui.oauth2Proxy.enabled=true", message: "ui.auth bearer-token" },
    { settings: `${OPEN},ui.ingress.enabled=true`, message: "need ui.allowedHosts" },
    { settings: `${OPEN},ui.allowedHosts={a.example.com},ui.httpRoute.enabled=true`, message: "name the Gateway" },
    {
      settings: `${OPEN},ui.allowedHosts={a.example.com},ui.oauth2Proxy.enabled=true,ui.oauth2Proxy.clientID=a`,
      message: "set all three",
    },
    { settings: "ui.oauth2Proxy.issuerURL=http://login.example.com", message: "issuerURL" },
  ])("refuses $settings", async ({ settings, message }) => {
    await expect(render("mooring-system", "--set", `ui.enabled=true,${settings}`)).rejects.toThrow(message);
  });
});
