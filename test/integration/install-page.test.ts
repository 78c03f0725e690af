import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, inject, it } from "vitest";
import { parse, stringify } from "yaml";
import type { Account } from "../../src/api/v1alpha1/account.ts";
import { clusterAccountResource } from "../../src/api/v1alpha1/kinds.ts";
import { createSimulator } from "../../src/simulator/server.ts";
import { CHART, helm, render } from "../support/chart.ts";
import { manifest } from "../support/manifests.ts";
import { commandsIn, fencedBlocks } from "../support/markdown.ts";
import { projectRoot } from "../support/pages.ts";
import { run } from "../support/run.ts";
import { API_KEY, BUNDLE, condition, createWorld, eventually, type World, waitForCondition } from "../support/world.ts";

const folder = await mkdtemp(join(tmpdir(), "mooring-install-"));
afterAll(() => rm(folder, { recursive: true, force: true }));

const blocks = fencedBlocks(await readFile(join(projectRoot, "docs/how-to/install.md"), "utf8"));
const accountValues = blocks.find(({ body }) => body.includes("defaultAccount:"))?.body ?? "";

/** The values of a release that tries the simulator, and then the values of the page over them, as `helm upgrade` merges them. */
async function upgradeArgs(...first: string[]): Promise<string[]> {
  const page = join(folder, "values.yaml");
  await writeFile(page, accountValues);
  const before = join(folder, "before.yaml");
  await writeFile(before, stringify({ simulator: { enabled: true } }));
  return ["--values", before, "--values", page, ...first];
}

let accounts = 0;

/** ClusterAccount `default` of a rendered chart, under a name of the world and with its key. */
async function accountOf(world: World, spec: object, ...args: string[]): Promise<string> {
  const objects = await render("mooring-system", ...args);
  const text = objects.flatMap(({ data }) => data?.["account.yaml"] ?? [])[0] ?? expect.fail("no account is made");
  const account: Account = parse(text);
  const apiKeySecretRef = { namespace: world.namespace, name: "key", key: "apiKey" };
  const merged = { ...account.spec, ...spec, apiKeySecretRef };
  const path = join(folder, `${++accounts}.yaml`);
  await writeFile(path, stringify({ ...account, metadata: { name: `of-${world.namespace}` }, spec: merged }));
  return path;
}

async function applyAccount(path: string): Promise<void> {
  const ended = await run(process.execPath, [BUNDLE, "apply", `--kubeconfig=${inject("kubeconfig")}`, "-f", path]);
  expect(ended).toMatchObject({ code: 0 });
}

/** Waits until the endpoint is cleaned up at the service, and shows what blocks that. */
const cleanedUp = (world: World) =>
  eventually("the endpoint is cleaned up", async () => {
    const [left] = await world.list("GpuEndpoint");
    if (left !== undefined) throw new Error(JSON.stringify(left.status));
    return true;
  });

describe("the values blocks of docs/how-to/install.md", () => {
  const values = blocks.flatMap((block, index) =>
    block.language === "yaml" ? [{ ...block, next: blocks[index + 1] }] : [],
  );

  it.each(values)("line $line: the next block has the command that uses the values", ({ next }) => {
    const helmCommands = commandsIn(next?.body ?? "").filter(({ program }) => program === "helm");
    expect(helmCommands.map(({ text }) => text)).toEqual([
      "upgrade mooring charts/mooring --namespace mooring-system --reset-then-reuse-values --values values.yaml --wait",
    ]);
  });
});

describe("the switch from the simulator to an account", () => {
  it("renders with the values of the page alone, and without the simulator", async () => {
    const objects = await render("mooring-system", ...(await upgradeArgs()));
    expect(objects.filter(({ metadata }) => metadata.name.endsWith("-simulator"))).toEqual([]);
    const account: Account = parse(objects.flatMap(({ data }) => data?.["account.yaml"] ?? [])[0] ?? "");
    expect(account.spec).toEqual({
      baseURL: "https://api.example.com",
      apiKeySecretRef: { namespace: "mooring-system", name: "service-api-key", key: "apiKey" },
      allowedNamespaces: { matchLabels: { "mooring.dev/account": "shared" } },
    });
  });

  it("ends with notes that have the label of the page's namespace", async () => {
    const notes = async (args: string[]) =>
      (await helm("install", "mooring", CHART, "--dry-run=client", ...args)).stdout.split("NOTES:\n")[1] ?? "";
    const label = commandsIn(blocks.map(({ body }) => body).join("\n")).find(({ args }) => args[0] === "label");
    expect(await notes(await upgradeArgs())).toContain(`  kubectl ${label?.text}\n`);
    const all = await notes(await upgradeArgs("--set", "defaultAccount.spec.allowedNamespaces=null"));
    expect(all).toContain('Every object without an accountRef uses ClusterAccount "default":');
    expect(all).not.toContain("kubectl label");
  });

  it("leaves no object that is bound to the simulator, if the objects are deleted first", async () => {
    const world = await createWorld("switch", { account: null });
    const real = await createSimulator({ config: { bootDelayMs: 0, timeScale: 0.1, apiKeys: [API_KEY] } });
    try {
      await world.startOperator();
      const name = `of-${world.namespace}`;
      const endpoint = manifest("endpoint", { accountRef: { kind: "ClusterAccount", name } }, "echo");
      await applyAccount(await accountOf(world, { baseURL: world.simulator.url }, "--set", "simulator.enabled=true"));
      await world.apply(endpoint);
      await waitForCondition(world, "GpuEndpoint", "echo", "Ready");

      // What the page warns of.
      const namespaces = { matchLabels: { "kubernetes.io/metadata.name": world.namespace } };
      const switched = await accountOf(
        world,
        { baseURL: real.url, allowedNamespaces: namespaces },
        ...(await upgradeArgs()),
      );
      await world.remove("GpuEndpoint", "echo");
      await cleanedUp(world);
      await applyAccount(switched);
      await world.apply(endpoint);
      const ready = await waitForCondition(world, "GpuEndpoint", "echo", "Ready");
      expect(ready.status?.["account"]).toMatchObject({ baseURL: real.url });

      await applyAccount(await accountOf(world, { baseURL: world.simulator.url }, "--set", "simulator.enabled=true"));
      const stalled = await waitForCondition(world, "GpuEndpoint", "echo", "Stalled");
      expect(condition(stalled, "Stalled")?.reason).toBe("AccountMismatch");
      await world.remove("GpuEndpoint", "echo");
      await applyAccount(switched);
      await cleanedUp(world);
      await world.kube.delete(clusterAccountResource, { name });
    } finally {
      await real.close();
    }
  });
});

it("on OpenShift, the chart leaves the user and the groups to the cluster, with a volume too", async () => {
  const settings = [
    "--api-versions=security.openshift.io/v1",
    "--set=simulator.enabled=true,artifacts.persistence.enabled=true",
  ];
  const pods = (await render("mooring-system", ...settings)).flatMap((object) => {
    const spec = object["spec"] as { template?: { spec: { securityContext: object } } } | undefined;
    return spec?.template === undefined ? [] : [spec.template.spec.securityContext];
  });
  expect(pods.length).toBeGreaterThan(0);
  for (const pod of pods) expect(pod).toEqual({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } });
});
