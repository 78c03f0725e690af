import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { clusterAccountResource } from "../../src/api/v1alpha1/kinds.ts";
import type { AssumptionsInput } from "../../src/simulator/assumptions.ts";
import { cacheFolder, type ModFile, moduleFolder } from "../../tools/cluster/cache.ts";
import { kubernetesVersion } from "../../tools/cluster/kubernetes-version.ts";
import { kubernetesBinaries } from "../../tools/cluster/providers/build.ts";
import { type RunningBinaries, runBinaries } from "../../tools/cluster/run-binaries.ts";
import { runProgram } from "../../tools/cluster/run-program.ts";
import { tool } from "../../tools/programs/tool.ts";
import { CHART } from "../support/chart.ts";
import { manifest } from "../support/manifests.ts";
import {
  type AnyObject,
  createWorld,
  eventually,
  type Operator,
  type World,
  waitForCondition,
} from "../support/world.ts";
import { PAID } from "./paid-calls.ts";

const CRDS = fileURLToPath(new URL("../../crds", import.meta.url));
const log = (line: string) => void process.stderr.write(`kubernetes upgrade: ${line}\n`);

/** Half of a run: what is under way when the API server goes. */
const SLOW: AssumptionsInput = { bootDelayMs: 20_000, timeScale: 1 };
const [FINISHED, UNDER_WAY, LATER] = [10, 20, 10];

let running: RunningBinaries;
let world: World;
let operator: Operator;
let before: Map<string, AnyObject>;

const binariesOf = (mod: ModFile) =>
  kubernetesBinaries(mod, { env: process.env, cache: cacheFolder(process.env), log, signal: undefined });
const versionOf = async (mod: ModFile) => kubernetesVersion(await readFile(join(moduleFolder, mod), "utf8"));
const kubectl = (...args: string[]) => runProgram(inject("kubectl"), ["--kubeconfig", running.kubeconfig, ...args]);
const serverVersion = async () => JSON.parse(await kubectl("get", "--raw", "/version")).gitVersion;

const job = (name: string) => manifest("hd", { text: `Only once: ${name}.` }, name);
const names = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

/** An object without what the API server itself writes on each change. */
function contentOf({ metadata, ...rest }: AnyObject): object {
  const { resourceVersion: _changes, managedFields: _ofWriters, ...kept } = metadata as Record<string, unknown>;
  return { ...rest, metadata: kept };
}

async function objects(): Promise<Map<string, AnyObject>> {
  const kinds = ["GpuEndpoint", "SpeechJob", "Account", "Secret"];
  const lists = await Promise.all(kinds.map(async (kind) => ({ kind, items: await world.list(kind) })));
  return new Map(
    lists.flatMap(({ kind, items }) => items.map((one) => [`${kind}/${one.metadata.name}`, one] as const)),
  );
}

/** Effects at the service of paid calls, by the text that is their job. */
async function paidTexts(): Promise<unknown[]> {
  const entries = (await world.audit()).filter(
    ({ operation, effect }) => PAID.includes(operation) && effect !== undefined,
  );
  return entries.map(({ body }) => body?.["text"]);
}

/** `npm run test:full -- --only upgrade --long`: the oldest Kubernetes takes minutes to build, so nothing else runs this. */
describe.runIf(process.env["MOORING_UPGRADE"] === "1")("an upgrade of Kubernetes", () => {
  beforeAll(async () => {
    const oldest = await binariesOf("oldest.mod");
    // An upgrade of Kubernetes begins with that of etcd.
    const { etcd } = await binariesOf("go.mod");
    running = await runBinaries({ ...oldest, etcd }, log);
    await kubectl("apply", "--server-side", "-f", CRDS);
    await kubectl("wait", "--for=condition=Established", "--timeout=60s", "-f", CRDS);
    const policies = ["template", "mooring", CHART, "--show-only=templates/admission-policies.yaml"];
    const rendered = await runProgram(await tool("helm"), policies);
    await runProgram("sh", [
      "-c",
      'printf "%s" "$1" | "$2" --kubeconfig "$3" apply -f -',
      "apply",
      rendered,
      inject("kubectl"),
      running.kubeconfig,
    ]);
    world = await createWorld("kubernetes", { kubeconfig: running.kubeconfig });
    operator = await world.startOperator();
  }, 1_800_000);

  afterAll(async () => {
    await world?.close();
    await running?.stop();
  });

  it("the oldest Kubernetes runs endpoints and jobs, and some are under way", async () => {
    expect(await serverVersion()).toBe(await versionOf("oldest.mod"));
    for (const name of names("endpoint", 5)) await world.apply(manifest("endpoint", {}, name));
    for (const name of names("finished", FINISHED)) await world.apply(job(name));
    for (const name of names("endpoint", 5)) await waitForCondition(world, "GpuEndpoint", name, "Ready");
    for (const name of names("finished", FINISHED)) await waitForCondition(world, "SpeechJob", name, "Complete");
    before = await objects();

    await world.control("POST", "/__config", SLOW);
    for (const name of names("under-way", UNDER_WAY)) await world.apply(job(name));
    await world.apply(manifest("endpoint", {}, "starting"));
    await eventually("a part of the jobs is submitted", async () => (await paidTexts()).length >= FINISHED + 5);
  });

  it("the newest Kubernetes takes over on the same etcd while the operator runs", async () => {
    await running.replaceServers(await binariesOf("go.mod"));
    expect(await serverVersion()).toBe(await versionOf("go.mod"));
    // A new API server is ready before the caches of all custom resources are.
    const after = await eventually("every kind can be listed", objects);
    for (const [name, object] of before)
      expect(contentOf(after.get(name) ?? expect.fail(name)), name).toEqual(contentOf(object));
  });

  it("the same operator process continues, and nothing is paid twice", async () => {
    await world.control("POST", "/__config", { bootDelayMs: 0, timeScale: 0.1 });
    for (const name of names("later", LATER)) await world.apply(job(name));
    await world.patch("GpuEndpoint", "endpoint-0", { spec: { workers: { max: 5 } } });
    await waitForCondition(world, "GpuEndpoint", "starting", "Ready");
    for (const name of [...names("under-way", UNDER_WAY), ...names("later", LATER)]) {
      await waitForCondition(world, "SpeechJob", name, "Complete");
    }
    await eventually("the edit is at the service", async () =>
      (await world.state()).endpoints.some((endpoint) => JSON.stringify(endpoint).includes('"maxNum":5')),
    );
    await waitForCondition(world, "GpuEndpoint", "endpoint-0", "Ready");

    const texts = await paidTexts();
    expect(texts.toSorted()).toEqual([...new Set(texts)].toSorted());
    expect(texts).toHaveLength(FINISHED + UNDER_WAY + LATER);
    const creates = (await world.audit("createEndpoint")).filter(({ effect }) => effect !== undefined);
    expect(creates).toHaveLength(6);
    expect(await Promise.race([operator.exited, "runs"])).toBe("runs");
  });

  it("the newest Kubernetes refuses what the CRDs and the admission policies refuse", async () => {
    await expect(world.apply(manifest("endpoint", { workers: { min: 3, max: 2 } }, "bad"))).rejects.toThrow(/max/);
    const policies = await kubectl("get", "validatingadmissionpolicies", "-o", "name");
    expect(policies.split("\n").filter((name) => name.includes("mooring"))).not.toHaveLength(0);
    const outside = manifest("clusterAccount", { apiKeySecretRef: { namespace: "kube-public" } }, "outside");
    await expect(world.kube.create(clusterAccountResource, {}, outside)).rejects.toThrow("allowed is");
  });
});
