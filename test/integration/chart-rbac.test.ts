import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, inject, it, onTestFinished, test } from "vitest";
import { parse, stringify } from "yaml";
import { clusterAccountResource, KINDS } from "../../src/api/v1alpha1/kinds.ts";
import { startProxy } from "../../tools/chaos/proxy.ts";
import { targetOf } from "../../tools/cluster/credentials.ts";
import { runProgram } from "../../tools/cluster/run-program.ts";
import { type Rendered, type Rule, render } from "../support/chart.ts";
import { manifest } from "../support/manifests.ts";
import { RIGHTS, rightsText } from "../support/rights.ts";
import { run } from "../support/run.ts";
import {
  type AnyObject,
  condition,
  createWorld,
  eventually,
  plainKubeconfig,
  type World,
  waitForCondition,
} from "../support/world.ts";

const EXAMPLES = fileURLToPath(new URL("../../examples", import.meta.url));
const MODES = {
  "cluster-wide": [],
  "per namespace": ["--set", "watchNamespaces={team}"],
  "open metrics": ["--set", "metrics.auth=none"],
  "scraped metrics": ["--set", "metrics.podMonitor.enabled=true"],
  "exports of secrets": ["--set", "rbac.exportNamespaces.configMaps={team},rbac.exportNamespaces.secrets={team}"],
  "web page": ["--set", "ui.enabled=true"],
  "web page per namespace": ["--set", "ui.enabled=true,watchNamespaces={team}"],
  "all namespaces": ["--set", "rbac.secretNamespaces={*},rbac.exportNamespaces.configMaps={*}"],
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

type Binding = Rendered & { roleRef: { kind: string; name: string } };

/** Where the operator has the rights of a ClusterRole: namespaces, "everywhere" or "nowhere"; undefined for the roles of others. */
function placesOf(objects: readonly Rendered[], clusterRole: string): string {
  const bindings = objects.filter(
    (object): object is Binding =>
      object.kind?.endsWith("Binding") === true && (object as Binding).roleRef?.name === clusterRole,
  );
  const places = bindings.map(({ metadata }) => metadata.namespace ?? "everywhere");
  return places.length === 0 ? "not bound" : places.sort().join(", ");
}

type Role = { title: string; rights: string[] };

/** Each role with where it is bound, and its rights with one line for each resource. */
function rolesOf(objects: readonly Rendered[]): Role[] {
  const roles = objects.filter(({ kind }) => kind === "ClusterRole" || kind === "Role");
  return roles.map(({ kind, metadata, rules = [] }) => {
    const place =
      metadata.namespace === undefined ? `: ${placesOf(objects, metadata.name)}` : ` in ${metadata.namespace}`;
    const verbs = Map.groupBy(
      rightsOf(rules).map((right) => right.split(": ")),
      ([resource]) => resource,
    );
    const rights = [...verbs].map(
      ([resource, of]) =>
        `${resource}: ${of
          .map(([, verb]) => verb)
          .sort()
          .join(" ")}`,
    );
    return { title: `${kind} ${metadata.name}${place}`, rights: rights.sort() };
  });
}

const sorted = (lines: Iterable<string>) => [...lines].sort().join("\n");

/** Every right of each role; text that is compared with a file beside this test. */
const table = (roles: readonly Role[]) =>
  `${sorted(roles.map(({ title, rights }) => `${title}\n${rights.map((right) => `  ${right}\n`).join("")}`))}`;

/** What differs from the rights of the default values, a line for each role and resource. */
function difference(base: readonly Role[], roles: readonly Role[]): string {
  const lines = (of: readonly Role[]) =>
    new Set(of.flatMap(({ title, rights }) => rights.map((right) => `${title} | ${right}`)));
  const [before, after] = [lines(base), lines(roles)];
  const removed = [...before].filter((line) => !after.has(line)).map((line) => `- ${line}`);
  const added = [...after].filter((line) => !before.has(line)).map((line) => `+ ${line}`);
  return sorted([...removed, ...added]);
}

describe("the operator's rights", () => {
  test("are those of the list, with the differences that values make", async () => {
    const base = rolesOf(await render("mooring-system"));
    await expect(table(base)).toMatchFileSnapshot("./rights/cluster-wide.txt");
    const differences = await Promise.all(
      Object.entries(MODES).map(async ([mode, settings]) => {
        const roles = rolesOf(await render("mooring-system", ...settings));
        return `${mode}\n${difference(base, roles)}\n`;
      }),
    );
    await expect(differences.join("\n")).toMatchFileSnapshot("./rights/differences.txt");
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

  test("on Secrets and ConfigMaps are those of single namespaces, unless values ask for all", async () => {
    for (const mode of ["cluster-wide", "exports of secrets"] as const) {
      const objects = await render("mooring-system", ...MODES[mode]);
      const everywhere = objects.filter(
        ({ kind, metadata }) => kind === "ClusterRole" && placesOf(objects, metadata.name) === "everywhere",
      );
      expect(everywhere.length).toBeGreaterThan(1);
      for (const right of everywhere.flatMap(({ rules = [] }) => rightsOf(rules)))
        expect(right).not.toMatch(/^(secrets|configmaps)\b/);
      const places = (name: string) => placesOf(objects, `mooring-system-mooring-${name}`);
      expect(places("secret-reader")).toBe("default, mooring-system");
      expect(places("configmap-exporter")).toBe(mode === "cluster-wide" ? "not bound" : "team");
    }
    const all = await render("mooring-system", ...MODES["all namespaces"]);
    expect(placesOf(all, "mooring-system-mooring-secret-reader")).toBe("everywhere");
  });

  it.each([
    { given: "nothing", settings: "logLevel=info", places: "default, mooring-system" },
    { given: "secretNamespaces", settings: "rbac.secretNamespaces={a,b}", places: "a, b, mooring-system" },
    { given: "watchNamespaces", settings: "watchNamespaces={a}", places: "a, mooring-system" },
    { given: "both", settings: "watchNamespaces={a},rbac.secretNamespaces={b}", places: "a, b, mooring-system" },
    {
      given: "a default account whose Secret is elsewhere",
      settings:
        "defaultAccount.enabled=true,defaultAccount.baseURL=https://a.example.com,defaultAccount.existingSecret.name=k,defaultAccount.existingSecret.namespace=vault,watchNamespaces={a}",
      places: "a, mooring-system, vault",
    },
  ])("read Secrets in $places with $given", async ({ settings, places }) => {
    const objects = await render("mooring-system", "--set", settings);
    expect(placesOf(objects, "mooring-system-mooring-secret-reader")).toBe(places);
  });

  it("export to all watched namespaces, and to no other", async () => {
    const objects = await render(
      "mooring-system",
      "--set",
      "watchNamespaces={a,b},rbac.exportNamespaces.configMaps={*}",
    );
    expect(placesOf(objects, "mooring-system-mooring-configmap-exporter")).toBe("a, b");
    await expect(
      render("mooring-system", "--set", "watchNamespaces={a},rbac.exportNamespaces.secrets={c}"),
    ).rejects.toThrow("rbac.exportNamespaces.secrets names c, which is not in watchNamespaces: add it there");
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
    expect(await reviews("open metrics")).toEqual([]);
    expect(await reviews("cluster-wide")).toHaveLength(2);
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

/**
 * Kubeconfig of a proxy that adds a kubeconfig's credentials, and what the API server refused through it. Secrets and servers of
 * ClusterAccounts that other test files made do not count: no operator may read them.
 */
async function recordRefusals(
  kubeconfig: string,
  namespace: string,
): Promise<{ kubeconfig: string; refused: string[] }> {
  const refused: string[] = [];
  const proxy = await startProxy(
    {
      ...(await targetOf(kubeconfig)),
      onResponse({ method, path, status }) {
        const [, place] = /\/v1\/namespaces\/([^/]+)\/(?:secrets|leases)\//.exec(path) ?? [];
        if (status === 403 && (place === undefined || place === namespace)) refused.push(`${method} ${path}`);
      },
    },
    () => "pass",
    () => undefined,
  );
  onTestFinished(() => proxy.close());
  return { kubeconfig: await plainKubeconfig(proxy.url), refused };
}

test("kubectl auth can-i --list gives the checked list, which the end-to-end test uses too", async () => {
  const world = await createWorld("rights");
  await installRights(world, []);
  const kubectl = (...args: string[]) => runProgram(inject("kubectl"), ["--kubeconfig", inject("kubeconfig"), ...args]);
  const user = `system:serviceaccount:${world.namespace}:mooring`;
  const places = { any: "kube-system", read: "default", own: world.namespace };
  await expect(await rightsText(kubectl, user, places)).toMatchFileSnapshot(RIGHTS);
});

describe("an operator with exactly these rights", () => {
  it.each([
    { mode: "cluster-wide", watched: (namespace: string) => `rbac.secretNamespaces={${namespace}}` },
    { mode: "per namespace", watched: (namespace: string) => `watchNamespaces={${namespace}}` },
  ])("$mode: takes the main path, and nothing is refused", async ({ watched }) => {
    const world = await createWorld("rights");
    const { namespace, kube } = world;
    const exports = ["configMaps", "secrets"].map((kind) => `rbac.exportNamespaces.${kind}={${namespace}}`);
    const rights = await installRights(world, ["--set", [watched(namespace), ...exports].join(",")]);
    const { kubeconfig, refused } = await recordRefusals(rights, namespace);
    const operator = await world.startOperator({ kubeconfig });

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
    expect(refused).toEqual([]);
    expect(await operator.stop()).toBe(0);
    const lines = operator.log().split("\n");
    expect(lines.filter((line) => /forbidden/i.test(line) && line.includes(namespace))).toEqual([]);
  });
});

/** An operator of the chart's release in one namespace, with its rights there only, that serves another namespace. */
async function operatorFor(team: World, ...settings: string[]) {
  const system = await createWorld("rights");
  const kubeconfig = await installRights(system, settings.length === 0 ? [] : ["--set", settings.join(",")]);
  const operator = await system.startOperator({ kubeconfig, args: [`--watch-namespaces=${team.namespace}`] });
  /** As the admin of the served namespace does it, by the command of docs/how-to/install.md. */
  const grant = (role: string) =>
    runProgram(inject("kubectl"), [
      ...["--kubeconfig", inject("kubeconfig"), "--namespace", team.namespace],
      ...["create", "rolebinding", `mooring-${role}`],
      ...[`--clusterrole=${system.namespace}-mooring-${role}`, `--serviceaccount=${system.namespace}:mooring`],
    ]);
  return { system, operator, kubeconfig, grant };
}

describe("an operator with the rights of the default values", () => {
  it("can read no Secret and write no ConfigMap of kube-system, even when its token is stolen", async () => {
    const team = await createWorld("team");
    const { kubeconfig } = await operatorFor(team);
    const stolen = (...args: string[]) =>
      run(inject("kubectl"), ["--kubeconfig", kubeconfig, "--namespace=kube-system", ...args]);
    const change = ["configmap", "kube-root-ca.crt", "--type=merge", "-p", '{"data":{"ca.crt":""}}'];
    for (const attempt of [
      ["get", "secret", "bootstrap-token"],
      ["get", "secrets", "--all-namespaces"],
      ["get", "configmap", "kube-root-ca.crt"],
      ["patch", ...change],
      ["delete", "configmap", "kube-root-ca.crt"],
      ["create", "configmap", "ours", "--from-literal=a=b"],
      ["create", "secret", "generic", "ours", "--from-literal=a=b"],
      ["create", "rolebinding", "ours", "--clusterrole=cluster-admin", "--user=ours"],
    ]) {
      const { code, stderr } = await stolen(...attempt);
      expect({ code, stderr }, attempt.join(" ")).toEqual({ code: 1, stderr: expect.stringContaining("forbidden") });
    }
  });

  it("says which value of the chart grants a read or an export, and goes on when it is granted", async () => {
    const team = await createWorld("team", { account: { billing: { interval: "1s", settleTime: "1s" } } });
    const { namespace } = team;
    const { grant } = await operatorFor(team);
    const account = await waitForCondition(team, "Account", "default", "Stalled");
    expect(condition(account, "Stalled")).toMatchObject({
      reason: "ReadForbidden",
      message: `the operator may not read Secret ${namespace}/key: add ${namespace} to rbac.secretNamespaces in the values of the operator's chart, or grant the operator get on secrets in namespace ${namespace}`,
    });
    await grant("secret-reader");
    await waitForCondition(team, "Account", "default", "Ready");

    await team.apply(manifest("endpoint", { exportTo: { configMap: { name: "one-url" } } }, "one"));
    await team.apply(manifest("bill", { exportTo: { configMap: { name: "bills" } } }, "bills"));
    const grantExports = `add ${namespace} to rbac.exportNamespaces.configMaps in the values of the operator's chart`;
    const endpoint = await waitForCondition(team, "GpuEndpoint", "one", "Stalled");
    expect(condition(endpoint, "Stalled")).toMatchObject({
      reason: "ExportForbidden",
      message: expect.stringContaining(`may not write ConfigMap ${namespace}/one-url: ${grantExports}`),
    });
    const report = await waitForCondition(team, "BillReport", "bills", "Stalled");
    expect(condition(report, "Exported")).toMatchObject({
      reason: "ExportForbidden",
      message: expect.stringContaining(`may not write ConfigMap ${namespace}/bills: ${grantExports}`),
    });
    await grant("configmap-exporter");
    const now = { metadata: { annotations: { "mooring.dev/reconcile-requested-at": "now" } } };
    for (const { kind, name, export: file } of [
      { kind: "GpuEndpoint", name: "one", export: "one-url" },
      { kind: "BillReport", name: "bills", export: "bills" },
    ]) {
      await team.patch(kind, name, now);
      await eventually(`${kind} ${name} is exported`, () => team.get("ConfigMap", file));
      await waitForCondition(team, kind, name, "Ready");
    }
  });

  it("runs the examples in a namespace of rbac.secretNamespaces, as `default` is by itself", async () => {
    const team = await createWorld("team");
    const { operator } = await operatorFor(team, `rbac.secretNamespaces={${team.namespace}}`);
    const kubectl = ["--kubeconfig", inject("kubeconfig"), "--namespace", team.namespace];
    await runProgram(inject("kubectl"), [...kubectl, "apply", "-f", EXAMPLES]);
    for (const kind of ["GpuEndpoint", "SpeechJob", "VideoJob"]) {
      const objects = await team.list(kind);
      expect(objects.length).toBeGreaterThan(1);
      for (const { metadata } of objects) await waitForCondition(team, kind, metadata.name, "Ready");
    }
    const lines = operator.log().split("\n");
    expect(lines.filter((line) => /forbidden/i.test(line) && line.includes(team.namespace))).toEqual([]);
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
