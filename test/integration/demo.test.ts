import { spawn } from "node:child_process";
import { readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, inject, onTestFailed, onTestFinished, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { gpuEndpointResource } from "../../src/api/v1alpha1/kinds.ts";
import { createKubeClient } from "../../src/kube/client.ts";
import { loadCredentials } from "../../src/kube/credentials.ts";
import { namespaceResource } from "../../src/kube/resource.ts";
import type { KubeObject } from "../../src/kube/types.ts";
import { runProgram } from "../../tools/cluster/run-program.ts";
import { waitUntil } from "../../tools/cluster/wait-until.ts";
import { DEMO_SCRIPT, type Demo, startDemo as spawnDemo } from "../support/demo.ts";
import { isAlive } from "../support/processes.ts";

const examples = new URL("../../examples/", import.meta.url);
const soon = { timeoutMs: 120_000, intervalMs: 200 };

async function startDemo(options: Parameters<typeof spawnDemo>[0]): Promise<Demo> {
  const demo = await spawnDemo(options);
  onTestFailed(() => console.log(demo.output()));
  onTestFinished(() => void demo.child.kill("SIGKILL"));
  return demo;
}

async function processesOnceItRuns(demo: Demo): Promise<number[]> {
  await waitUntil("the operator runs", async () => demo.output().includes("operator running"), soon).catch((error) => {
    throw new Error(`${error}\n${demo.output()}`);
  });
  const pids = await demo.pids();
  expect([...pids.keys()]).toEqual(expect.arrayContaining(["guardian", "operator", "simulator"]));
  return [...pids.values()];
}

async function nothingIsLeft({ folder }: Demo, pids: number[]): Promise<void> {
  const clean = async () => !pids.some(isAlive) && (await readdir(folder)).length === 0;
  await waitUntil(`processes ${pids} and everything in ${folder} are gone`, clean, soon);
  await rm(folder, { recursive: true });
}

test("npm run demo runs what is tested here", () => {
  expect(packageJson.scripts.demo).toBe(`npm run --silent build && node ${DEMO_SCRIPT}`);
});

test("every example converges, results can be fetched, and nothing is left", async () => {
  const demo = await startDemo({ borrow: false });
  const pids = await processesOnceItRuns(demo);
  expect(await demo.ended, demo.output()).toBe(0);
  const output = demo.output();
  for (const name of (await readdir(examples)).filter((file) => file.endsWith(".yaml"))) {
    const [, kind = "", object = ""] = /^kind: (GpuEndpoint|SpeechJob|VideoJob)\nmetadata:\n {2}name: (\S+)/m.exec(
      await readFile(new URL(name, examples), "utf8"),
    ) ?? [undefined];
    expect(output, name).toMatch(new RegExp(`^\\[ *[\\d.]+ s\\] ${kind}/${object} +Ready=True`, "m"));
    expect(output, name).toContain(`${kind.toLowerCase()}.mooring.dev/${object} condition met`);
    if (kind !== "GpuEndpoint") {
      expect(output, name).toMatch(new RegExp(`^${kind}/${object} +(audio|video)/\\w+ +[\\d.]+ kB +http://\\S+$`, "m"));
    }
  }
  expect(output).toMatch(/^(cluster)?account.mooring.dev\/default +True +Ready +True/m);
  expect(output).toContain("examples are as their manifests say.");
  await nothingIsLeft(demo, pids);
});

describe("in somebody else's cluster", () => {
  const kubectl = (...args: string[]) => runProgram(inject("kubectl"), ["--kubeconfig", inject("kubeconfig"), ...args]);
  const demoNamespaces = async () =>
    (await kubectl("get", "namespaces", "-o", "name")).split("\n").filter((name) => name.includes("mooring-demo-"));

  /** The namespace while its endpoints are in deletion. */
  async function inNamespaceOfDeletedEndpoints(name: string): Promise<KubeObject<unknown, unknown>> {
    const kube = createKubeClient(await loadCredentials({ kubeconfig: inject("kubeconfig") }));
    try {
      await waitUntil(
        "an endpoint is in deletion",
        async () => {
          const endpoints = await kube.list(gpuEndpointResource, { namespace: name });
          return endpoints.items.some(({ metadata }) => metadata.deletionTimestamp !== undefined);
        },
        soon,
      );
      return await kube.get(namespaceResource, { name });
    } finally {
      await kube.close();
    }
  }

  afterEach(async () => {
    for (const namespace of await demoNamespaces()) await kubectl("delete", namespace, "--wait=false");
  });

  test("what does not converge in time is named with its reason and the logs, and its namespace goes", async () => {
    const demo = await startDemo({ borrow: true, args: ["--timeout", "0.5"] });
    const pids = await processesOnceItRuns(demo);
    const operator = (await demo.pids()).get("operator") ?? 0;
    await waitUntil("the demo tidies up", async () => / deleting /.test(demo.output()), soon);
    process.kill(operator, "SIGSTOP");
    const [, name = ""] = /deleting namespace (\S+)/.exec(demo.output()) ?? [];
    const namespace = await inNamespaceOfDeletedEndpoints(name);
    const held = ["-n", name, "configmap", "held"];
    await kubectl("-n", name, "create", "configmap", "held");
    await kubectl("patch", ...held, "--patch", '{"metadata": {"finalizers": ["mooring.test/held"]}}');
    process.kill(operator, "SIGCONT");
    // The operator's Lease is in it, and without the Lease nothing removes the finalizers.
    expect(namespace.status).toEqual({ phase: "Active" });
    await waitUntil("the operator has lost its Lease, and ends", async () => !isAlive(operator), soon);
    await kubectl("patch", ...held, "--patch", '{"metadata": {"finalizers": null}}');
    expect(await demo.ended, demo.output()).toBe(1);
    const output = demo.output();
    expect(output).toMatch(/^FAILED: \d+ objects not there after 0\.5 s$/m);
    // On a busy machine, 0.5 s can be too short for its first status.
    const state = /(\S+, Ready=(False|Unknown), \w+: \S|the operator has not reconciled it yet$)/;
    expect(output).toMatch(new RegExp(`^ {2}VideoJob/waves: ${state.source}`, "m"));
    const logs = /^logs: (.+)$/m.exec(output)?.[1] ?? "no line with the logs";
    expect(await readFile(join(logs, "operator.log"), "utf8")).toContain("operator starts");
    expect(await demoNamespaces()).toEqual([]);
    await rm(logs, { recursive: true });
    await nothingIsLeft(demo, pids);
  });

  test.each(["SIGINT", "SIGKILL"] as const)("after %s nothing of it runs on", async (signal) => {
    const demo = await startDemo({ borrow: true, args: ["--keep"] });
    const pids = await processesOnceItRuns(demo);
    demo.child.kill(signal);
    expect(await demo.ended).toBe(signal === "SIGINT" ? 130 : "SIGKILL");
    await nothingIsLeft(demo, pids);
  });

  test("with --keep a store on a volume works, and the end of the operator ends nothing else", async () => {
    const demo = await startDemo({ borrow: true, args: ["--keep"] });
    const pids = await processesOnceItRuns(demo);
    const shows = (text: RegExp) =>
      waitUntil(`the demo shows ${text}`, async () => text.test(demo.output()), soon).catch((error) => {
        throw new Error(`${error}\n${demo.output()}`);
      });
    await shows(/stays up until Ctrl-C/);
    const [, namespace = ""] = /kubectl get mooring -n (\S+)/.exec(demo.output()) ?? [];
    const [, say = ""] = /^ {2}(mooring say .* -o welcome\.mp3.*)$/m.exec(demo.output()) ?? [];
    const mp3 = join(demo.folder, "welcome.mp3");
    const command = `PATH="$PWD/bin:$PATH" exec ${say.replace("welcome.mp3", mp3)} --kubeconfig "$0"`;
    await runProgram("sh", ["-c", command, inject("kubeconfig")]);
    expect((await stat(mp3)).size).toBeGreaterThan(1000);
    await rm(mp3);
    await kubectl("-n", namespace, "apply", "-f", "examples/store/volume.yaml");
    await kubectl("-n", namespace, "wait", "--for=condition=Ready", "artifactstore/results", "--timeout=60s");

    process.kill((await demo.pids()).get("operator") ?? 0, "SIGTERM");
    await shows(/^operator ended by itself\. Everything else stays up\. To start the operator again/m);
    const [, startAgain = ""] = /another terminal:\n {2}(\S+ .* operator .*)$/m.exec(demo.output()) ?? [];
    const again = spawn("sh", ["-c", `exec ${startAgain}`], { stdio: "ignore" });
    onTestFinished(() => void again.kill("SIGKILL"));
    const store =
      "apiVersion: mooring.dev/v1alpha1\nkind: ArtifactStore\nmetadata: {name: second}\nspec: {volume: {path: b}}";
    const file = join(demo.folder, "second.yaml");
    await writeFile(file, store);
    await kubectl("-n", namespace, "apply", "-f", file);
    await kubectl("-n", namespace, "wait", "--for=condition=Ready", "artifactstore/second", "--timeout=60s");
    await rm(file);

    demo.child.kill("SIGINT");
    expect(await demo.ended).toBe(0);
    again.kill("SIGKILL");
    await nothingIsLeft(demo, pids);
  });
});
