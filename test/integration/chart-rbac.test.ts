import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, inject, it, onTestFinished, test } from "vitest";
import { parse, stringify } from "yaml";
import { clusterAccountResource, KINDS } from "../../src/api/v1alpha1/kinds.ts";
import { runProgram } from "../../tools/cluster/run-program.ts";
import { type Rendered, type Rule, render } from "../support/chart.ts";
import { manifest } from "../support/manifests.ts";
import { RIGHTS, rightsText } from "../support/rights.ts";
import {
  type AnyObject,
  closeWorldsAfterAll,
  condition,
  disposableWorld,
  eventually,
  type Operator,
  type World,
  waitForCondition,
} from "../support/world.ts";

closeWorldsAfterAll();

const MODES = {
  "cluster-wide": [],
  "per namespace": ["--set", "watchNamespaces={team}"],
  "guarded metrics": ["--set", "metrics.auth=token-review"],
  "exports of secrets": ["--set", "rbac.exportTo.secrets=true"],
} as const;

/** What rules allow, a line for each verb: `verb resource[.group][/name]`. */
function rightsOf(rules: readonly Rule[]): string[] {
  return rules.flatMap(({ apiGroups = [], resources = [], resourceNames = [""], nonResourceURLs = [], verbs }) => {
    const named = apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        resourceNames.map((name) => `${resource}${group === "" ? "" : `.${group}`}${name === "" ? "" : ` "${name}"`}`),
      ),
    );
    return [...named, ...nonResourceURLs].flatMap((what) => verbs.map((verb) => `${what}: ${verb}`));
  });
}

/** Every right of each role, by role and namespace; text that is compared with a file beside this test. */
function table(objects: readonly Rendered[]): string {
  return objects
    .filter(({ kind }) => kind === "ClusterRole" || kind === "Role")
    .map(({ kind, metadata, rules = [] }) => {
      const place = metadata.namespace === undefined ? "" : ` in ${metadata.namespace}`;
      return `${kind} ${metadata.name}${place}\n${rightsOf(rules)
        .sort()
        .map((right) => `  ${right}\n`)
        .join("")}`;
    })
    .sort()
    .join("\n");
}

describe("the operator's rights", () => {
  test.each(Object.entries(MODES))("%s are those of the list", async (mode, settings) => {
    const objects = await render("mooring-system", ...settings);
    await expect(table(objects)).toMatchFileSnapshot(`./rights/${mode.replaceAll(" ", "-")}.txt`);
  });

  test("hold no list or watch of Secrets, no write of them unless asked for, no wildcard, and no write of roles", async () => {
    for (const [mode, settings] of Object.entries(MODES)) {
      const rights = (await render("mooring-system", ...settings)).flatMap(({ rules = [] }) => rightsOf(rules));
      expect(rights.length).toBeGreaterThan(20);
      for (const right of rights) {
        expect(right).not.toContain("*");
        expect(right).not.toMatch(/^secrets.*: (list|watch|update|deletecollection)/);
        if (mode !== "exports of secrets") expect(right).not.toMatch(/^secrets.*: (create|patch|delete)/);
        expect(right).not.toContain("rbac.authorization.k8s.io");
      }
    }
  });

  test("name every kind: the operator's, people's and the cleanup's", async () => {
    const objects = await render("mooring-system");
    const rights = (name: string) =>
      rightsOf(
        objects.find(({ kind, metadata }) => kind === "ClusterRole" && metadata.name.endsWith(name))?.rules ?? [],
      );
    for (const { resource } of KINDS) {
      const what = `${resource.plural}.${resource.group}`;
      expect(rights("system-mooring")).toContain(`${what}: watch`);
      expect(rights("system-mooring")).toContain(`${resource.plural}/status.${resource.group}: patch`);
      expect(rights("-view")).toContain(`${what}: list`);
      expect(rights("-cleanup")).toContain(`${what}: patch`);
      if (resource.namespaced) expect([...rights("-edit"), ...rights("-admin")]).toContain(`${what}: create`);
    }
  });

  test("of the token review come with guarded metrics only", async () => {
    const reviews = async (mode: keyof typeof MODES) =>
      (await render("mooring-system", ...MODES[mode]))
        .flatMap(({ rules = [] }) => rightsOf(rules))
        .filter((right) => right.includes("reviews"));
    expect(await reviews("cluster-wide")).toEqual([]);
    expect(await reviews("guarded metrics")).toHaveLength(2);
  });
});

/** A kubeconfig of the operator's service account, with the rendered roles and nothing else. */
async function installRights(world: World, settings: readonly string[]): Promise<string> {
  const kubectl = (...args: string[]) => runProgram(inject("kubectl"), ["--kubeconfig", inject("kubeconfig"), ...args]);
  const folder = await mkdtemp(join(tmpdir(), "mooring-rights-"));
  const objects = (await render(world.namespace, ...settings)).filter(
    ({ kind, metadata }) =>
      /^(ClusterRole|Role|ServiceAccount)(Binding)?$/.test(kind ?? "") &&
      metadata.annotations?.["helm.sh/hook"] === undefined,
  );
  const path = join(folder, "rights.yaml");
  await writeFile(path, objects.map((object) => stringify(object)).join("---\n"));
  // Other tests apply a role of the same name in namespace default, from the server's side too.
  await kubectl("apply", "--server-side", "--force-conflicts", "-f", path);
  onTestFinished(async () => {
    await kubectl("delete", "-f", path, "--ignore-not-found", "--wait=false");
    await rm(folder, { recursive: true, force: true });
  });
  const token = (await kubectl("--namespace", world.namespace, "create", "token", "mooring")).trim();
  const config = parse(await readFile(inject("kubeconfig"), "utf8"));
  config.users = config.users.map(({ name }: { name: string }) => ({ name, user: { token } }));
  const kubeconfig = join(folder, "kubeconfig");
  await writeFile(kubeconfig, stringify(config));
  return kubeconfig;
}

/** What the API server refused, by the operator's own count. */
async function refusals(operator: Operator): Promise<string[]> {
  const started =
    operator
      .log()
      .split("\n")
      .find((line) => line.includes('"operator starts"')) ?? "{}";
  const { metrics } = JSON.parse(started) as { metrics: number };
  const page = await (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text();
  return page
    .split("\n")
    .filter((line) => line.startsWith("rest_client_requests_total") && line.includes('code="403"'));
}

test("kubectl auth can-i --list says the same as the list that the end-to-end test holds the operator to", async () => {
  const world = await disposableWorld("rights");
  await installRights(world, []);
  const kubectl = (...args: string[]) => runProgram(inject("kubectl"), ["--kubeconfig", inject("kubeconfig"), ...args]);
  const user = `system:serviceaccount:${world.namespace}:mooring`;
  await expect(await rightsText(kubectl, user, "default", world.namespace)).toMatchFileSnapshot(RIGHTS);
});

describe("an operator with exactly these rights", () => {
  it.each([
    ["cluster-wide", () => MODES["exports of secrets"]],
    ["per namespace", (namespace: string) => ["--set", `watchNamespaces={${namespace}},rbac.exportTo.secrets=true`]],
  ] as const)("%s takes the main path, and nothing is refused", async (_, settingsOf) => {
    const world = await disposableWorld("rights");
    const { namespace, kube } = world;
    const kubeconfig = await installRights(world, settingsOf(namespace));
    const operator = await world.startOperator({ kubeconfig, args: ["--leader-elect"] });

    await world.apply({ apiVersion: "v1", kind: "Secret", metadata: { name: "tokens" }, stringData: { hub: "x" } });
    await world.apply({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "settings" }, data: { mode: "fast" } });
    const env = [
      { name: "HUB", valueFrom: { secretKeyRef: { name: "tokens", key: "hub" } } },
      { name: "MODE", valueFrom: { configMapKeyRef: { name: "settings", key: "mode" } } },
    ];
    const exportTo = { configMap: { name: "one-url" }, secret: { name: "one-url" } };
    await world.apply(manifest("endpoint", { env, exportTo }, "one"));
    for (const variant of ["turbo", "hd", "image"] as const) await world.apply(manifest(variant, {}, variant));
    await world.apply(manifest("hd", { ttlSecondsAfterFinished: 1 }, "short-lived"));
    const clusterAccount = await aClusterAccount(world);
    await world.apply(manifest("turbo", { accountRef: { kind: "ClusterAccount", name: clusterAccount } }, "elsewhere"));

    await waitForCondition(world, "GpuEndpoint", "one", "Ready");
    await waitForCondition(world, "SpeechJob", "turbo", "Complete");
    await waitForCondition(world, "SpeechJob", "hd", "Complete");
    await waitForCondition(world, "SpeechJob", "elsewhere", "Complete");
    await waitForCondition(world, "VideoJob", "image", "Complete");
    await waitForCondition(world, "Account", "default", "Ready");
    await eventually("the finished job is deleted", async () =>
      (await world.list("SpeechJob")).every(({ metadata }) => metadata.name !== "short-lived"),
    );
    for (const kind of ["ConfigMap", "Secret"])
      await eventually("the export is there", () => world.get(kind, "one-url"));
    await world.patch("ConfigMap", "one-url", { data: { url: "somebody's" } });
    await world.patch("GpuEndpoint", "one", { spec: { workers: { max: 3 } } });
    await eventually(
      "the change arrives",
      async () => (await world.get("GpuEndpoint", "one")).status?.appliedGeneration === 2,
    );
    await world.patch("GpuEndpoint", "one", { spec: { exportTo: null } });
    await eventually("the exports are gone", async () =>
      (await world.list("Secret")).every(({ metadata }) => metadata.name !== "one-url"),
    );
    await world.remove("GpuEndpoint", "one");
    await eventually("the endpoint is gone", async () => (await world.list("GpuEndpoint")).length === 0);
    await eventually("events are there", async () => {
      const { items } = await kube.list(eventResource, { namespace });
      return items.length > 0;
    });
    expect(await refusals(operator)).toEqual([]);
    expect(await operator.stop()).toBe(0);
    expect(operator.log()).not.toMatch(/forbidden|Forbidden/);
  });
});

const eventResource = { group: "events.k8s.io", version: "v1", plural: "events", kind: "Event", namespaced: true };

/** A ClusterAccount at the world's simulator, under a name of its own. */
async function aClusterAccount(world: World): Promise<string> {
  const name = `rights-${randomBytes(4).toString("hex")}`;
  const ref = { namespace: world.namespace, name: "key", key: "apiKey" };
  const object = manifest("clusterAccount", { baseURL: world.simulator.url, apiKeySecretRef: ref }, name);
  await world.kube.create<AnyObject>(clusterAccountResource, {}, object);
  onTestFinished(async () => {
    await world.kube.delete(clusterAccountResource, { name });
    // It is in use, and nobody is left to see that it no longer is.
    await world.kube
      .mergePatch(clusterAccountResource, { name }, { metadata: { finalizers: [] } })
      .catch((error: unknown) => expect(error).toMatchObject({ status: 404 }));
  });
  await eventually("the ClusterAccount is ready", async () => {
    const object = await world.kube.get<AnyObject>(clusterAccountResource, { name });
    return condition(object, "Ready")?.status === "True";
  });
  return name;
}
