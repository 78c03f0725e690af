import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect } from "vitest";
import { manifest } from "../support/manifests.ts";
import { RIGHTS, rightsText } from "../support/rights.ts";
import { prepared, test } from "./e2e-test.ts";
import { isTrue, until } from "./kubectl.ts";
import { RELEASE, type Release, releaseIn } from "./release.ts";

/** What it takes and costs; printed at the end. */
const figures: string[] = [];
const SYSTEM = "mooring-e2e-system";
const TEAM = "mooring-e2e-team";
/** The examples refer to a Secret and a ConfigMap of their namespace. */
const VALUES = `simulator.enabled=true,rbac.secretNamespaces={${TEAM}}`;
const EXAMPLES = fileURLToPath(new URL("../../examples", import.meta.url));
const KINDS = ["gpuendpoints", "speechjobs", "videojobs"];
const seconds = (since: number) => ((performance.now() - since) / 1000).toFixed(1);

let release: Release;

beforeAll(async () => {
  if (prepared === undefined) return;
  const found = releaseIn(prepared, SYSTEM);
  await found.refuseUsedCluster();
  release = found;
  figures.push(`image: ${(prepared.imageBytes / 1e6).toFixed(0)} MB`);
  for (const name of [SYSTEM, TEAM]) {
    await release.kubectl("create", "namespace", name);
    await release.kubectl("label", "namespace", name, "pod-security.kubernetes.io/enforce=restricted");
  }
});

afterAll(async () => {
  if (release === undefined) return;
  console.log(figures.join("\n"));
  await release.helm("uninstall", RELEASE, "--ignore-not-found", "--wait", "--timeout=3m");
  await release.kubectl(
    "delete",
    "crd",
    "-l",
    "app.kubernetes.io/part-of=mooring",
    "--ignore-not-found",
    "--timeout=120s",
  );
  await release.kubectl("delete", "namespace", SYSTEM, TEAM, "--ignore-not-found", "--timeout=120s");
});

type Usage = { podRef: { name: string }; containers: { memory: { workingSetBytes: number } }[] };

/** What the operator's pod uses as its memory limit counts it, MiB. */
async function workingSetMiB(pod: string): Promise<number> {
  const node = await release.kubectl("-n", SYSTEM, "get", "pod", pod, "-o", "jsonpath={.spec.nodeName}");
  const bytes = async () => {
    const { pods } = JSON.parse(await release.kubectl("get", "--raw", `/api/v1/nodes/${node}/proxy/stats/summary`));
    return (pods as Usage[]).find(({ podRef }) => podRef.name === pod)?.containers[0]?.memory?.workingSetBytes ?? 0;
  };
  await until("the node knows the pod's memory", async () => (await bytes()) > 0);
  return (await bytes()) / 2 ** 20;
}

/** From a pod's container started to the pod Ready, as the node saw it, seconds. */
async function startSeconds(pod: string): Promise<number> {
  const { status } = JSON.parse(await release.kubectl("-n", SYSTEM, "get", "pod", pod, "-o", "json"));
  const ready = status.conditions.find(({ type }: { type: string }) => type === "Ready").lastTransitionTime;
  return (Date.parse(ready) - Date.parse(status.containerStatuses[0].state.running.startedAt)) / 1000;
}

async function ready(kinds = KINDS): Promise<void> {
  const all = kinds.some((kind) => kind.includes("/")) ? [] : ["--all"];
  await release.kubectl("-n", TEAM, "wait", "--for=condition=Ready", ...all, "--timeout=180s", kinds.join(","));
}

test("helm install is ready in a restricted namespace, and so is ClusterAccount default", async () => {
  const start = performance.now();
  await release.install("--set", `${VALUES},metrics.dashboard.enabled=true`);
  await release.kubectl("wait", "--for=condition=Ready", "--timeout=60s", "clusteraccount/default");
  figures.push(`time to Ready after helm install: ${seconds(start)} s`);
  await release.kubectl("-n", SYSTEM, "get", "networkpolicy", RELEASE);
});

test("helm test passes", async () => {
  expect(await release.helm("test", RELEASE)).toMatch(/Phase:\s+Succeeded/);
});

test("the operator's service account may do what the list says, and nothing else", async () => {
  const [pod] = await release.list("pods", "-n", SYSTEM, "-l", "app.kubernetes.io/component=operator");
  const name = pod?.metadata.name ?? "";
  figures.push(`operator's container started to Ready: ${await startSeconds(name)} s`);
  figures.push(`memory of an idle operator (working set): ${(await workingSetMiB(name)).toFixed(0)} MiB`);
  const places = { any: "kube-system", read: TEAM, own: SYSTEM };
  const text = await rightsText(release.kubectl, `system:serviceaccount:${SYSTEM}:${RELEASE}`, places);
  await expect(text).toMatchFileSnapshot(RIGHTS);
  expect(text).not.toMatch(/^secrets\s.*(list|watch)/m);
});

test("kubectl apply -f examples/ works at once", async () => {
  const start = performance.now();
  await release.kubectl("-n", TEAM, "apply", "-f", EXAMPLES);
  await ready();
  figures.push(`examples Ready: ${seconds(start)} s`);
});

test("an upgrade with another replica changes nothing at the service", async () => {
  const before = (await release.audit("createEndpoint")).length;
  await release.install("--set", `${VALUES},replicaCount=2,logLevel=debug`);
  await release.kubectl("-n", SYSTEM, "rollout", "status", `deployment/${RELEASE}`, "--timeout=120s");
  await until("a new pod serves the account", async () => {
    const pods = await release.list("pods", "-n", SYSTEM, "-l", "app.kubernetes.io/component=operator");
    const server = await release.server();
    return pods.length === 2 && pods.some(({ metadata }) => metadata.name === server);
  });
  await release.kubectl("-n", SYSTEM, "get", "poddisruptionbudget", RELEASE);
  await ready();
  expect(await release.audit("createEndpoint")).toHaveLength(before);
});

test("a rotated key is taken from the Secret without a restart", async () => {
  const account = async (status: string) =>
    (await release.list("clusteraccounts")).every((object) => isTrue(object, "Ready") === (status === "True"));
  await release.configure({ apiKeys: ["rotated-key"] });
  const poke = { metadata: { annotations: { "mooring.dev/reconcile-requested-at": String(Date.now()) } } };
  await release.kubectl("patch", "clusteraccount", "default", "--type=merge", "-p", JSON.stringify(poke));
  await until("the old key is refused", () => account("False"));
  const secret = { stringData: { apiKey: "rotated-key" } };
  await release.kubectl(
    "-n",
    SYSTEM,
    "patch",
    "secret",
    `${RELEASE}-account`,
    "--type=merge",
    "-p",
    JSON.stringify(secret),
  );
  const start = performance.now();
  await until("the new key is in use", () => account("True"));
  figures.push(`account Ready after the Secret changed: ${seconds(start)} s`);
});

test("a pod that dies during 100 submissions submits nothing twice", async () => {
  const names = Array.from({ length: 100 }, (_, index) => `paid-${index}`);
  const jobs = names.map((name) => {
    const job = manifest("hd", { text: `Only once: ${name}.` }, name);
    return { ...job, metadata: { ...job.metadata, labels: { e2e: "paid" } } };
  });
  const server = await release.server();
  await release.kubectlWith(
    JSON.stringify({ apiVersion: "v1", kind: "List", items: jobs }),
    "-n",
    TEAM,
    "apply",
    "-f",
    "-",
  );
  const submitted = async () =>
    (await release.audit("submitSpeech")).filter(({ body }) => body?.text?.startsWith("Only once"));
  await until("some are submitted", async () => (await submitted()).length >= 5);
  await release.kubectl("-n", SYSTEM, "delete", "pod", server ?? "", "--grace-period=0", "--force", "--wait=false");
  const start = performance.now();
  await until("another pod serves the account", async () => ![undefined, server].includes(await release.server()));
  figures.push(`takeover: ${seconds(start)} s`);
  const phases = async () =>
    (await release.list("speechjobs", "-n", TEAM, "-l", "e2e=paid")).map(({ status }) => status?.phase);
  await until(
    "every job has ended or waits for a person",
    async () => (await phases()).every((phase) => phase === "Succeeded" || phase === "Halted"),
    240_000,
  );
  const texts = (await submitted()).filter(({ effect }) => effect !== undefined).map(({ body }) => body?.text);
  expect(texts.length).toBe(new Set(texts).size);
  const halted = (await phases()).filter((phase) => phase === "Halted").length;
  figures.push(
    `pod killed during 100 submissions: ${texts.length} submitted, ${texts.length - new Set(texts).size} twice, ${halted} halted`,
  );
  expect(texts.length + halted).toBeGreaterThanOrEqual(100);
});

test("uninstalling strands nothing: objects stay, without finalizers", async () => {
  await release.helm("uninstall", RELEASE, "--wait", "--timeout=3m");
  const left = await release.list("gpuendpoints", "-n", TEAM);
  expect(left.length).toBeGreaterThan(0);
  for (const { metadata } of [...left, ...(await release.list("clusteraccounts"))])
    expect(metadata.finalizers ?? []).toEqual([]);
  await release.kubectl("-n", TEAM, "delete", "gpuendpoint", "--all", "--timeout=60s");
});

test("an operator that goes without an uninstall strands nothing after mooring cleanup", async () => {
  await release.install("--set", VALUES);
  await release.kubectlWith(JSON.stringify(manifest("endpoint", {}, "late")), "-n", TEAM, "apply", "-f", "-");
  await ready(["gpuendpoint/late"]);
  const now = ["--force", "--grace-period=0"];
  await release.kubectl("-n", SYSTEM, "delete", "deployment", RELEASE, ...now);
  await release.kubectl("-n", SYSTEM, "delete", "pods", "-l", "app.kubernetes.io/component=operator", ...now);
  await release.kubectl("-n", TEAM, "delete", "gpuendpoint", "late", "--wait=false");
  expect(await release.list("gpuendpoints", "-n", TEAM)).toHaveLength(1);
  const printed = await release.mooring("cleanup", "--operator-namespace", SYSTEM);
  expect(printed).toContain(`GpuEndpoint ${TEAM}/late: finalizer taken off, its deletion goes on`);
  await release.kubectl("delete", "namespace", TEAM, "--timeout=60s");
});
