import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { parse } from "yaml";
import { runProgram } from "../../tools/cluster/run-program.ts";
import { kstatusOf } from "../support/kstatus.ts";
import { kstatusVerdicts } from "../support/kstatus-library.ts";
import { ARGO_CD, type HealthCase, testHealth } from "../support/lua.ts";
import { manifest } from "../support/manifests.ts";
import { fencedBlocks } from "../support/markdown.ts";
import { objectsIn, resourceSteps } from "../support/page-manifests.ts";
import { type AnyObject, createWorld, eventually, type World, waitForCondition } from "../support/world.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const blocks = fencedBlocks(await readFile(join(root, "docs/how-to/gitops.md"), "utf8"));

let world: World;
let folder: string;

/** A shell in a folder that holds the page's manifests under their names, with kubectl in the namespace of the test. */
const shell = (script: string) =>
  runProgram("sh", ["-e", "-c", script], {
    cwd: folder,
    env: { ...process.env, PATH: `${join(folder, "bin")}:${process.env.PATH}` },
  });

beforeAll(async () => {
  world = await createWorld("gitops", { simulator: { timeScale: 0.05 } });
  await world.startOperator();
  folder = await mkdtemp(join(tmpdir(), "mooring-gitops-"));
  await mkdir(join(folder, "bin"));
  const kubectl = `'${inject("kubectl")}' --kubeconfig '${inject("kubeconfig")}' --namespace ${world.namespace}`;
  await writeFile(join(folder, "bin/kubectl"), `#!/bin/sh\nexec ${kubectl} "$@"\n`);
  await chmod(join(folder, "bin/kubectl"), 0o755);
  await symlink(join(root, "examples"), join(folder, "examples"));
  for (const block of blocks.filter(({ language }) => language === "yaml")) {
    const name = objectsIn(block)[0]?.metadata.name;
    if (name !== undefined) await writeFile(join(folder, `${name}.yaml`), block.body);
  }
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const paid = async (text: string) =>
  (await world.audit()).filter(({ method, body }) => method === "POST" && JSON.stringify(body ?? "").includes(text));

describe("docs/how-to/gitops.md", () => {
  it("can be followed from top to bottom", async () => {
    // What an Argo CD has already.
    const own = { "timeout.reconciliation": "180s" };
    const metadata = { name: "argocd-cm", labels: { "app.kubernetes.io/part-of": "argocd" } };
    await writeFile(
      join(folder, "own.json"),
      JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata, data: own }),
    );
    await shell("kubectl apply -f own.json");
    const outputs: string[] = [];
    for (const { body } of blocks.filter(({ language }) => language === "sh")) {
      outputs.push(await shell(body.replaceAll("--namespace argocd", `--namespace ${world.namespace}`)));
    }
    expect(outputs[0]).toMatch(/http:\/\/127\.0\.0\.1:\S+$/);
    expect(outputs[1]).toMatch(/Succeeded$/);
    const { data } = JSON.parse(await shell("kubectl get configmap argocd-cm -o json"));
    expect(data).toEqual({ ...own, ...parse(await readFile(join(ARGO_CD, "argocd-cm.yaml"), "utf8")).data });
    const ahoy = await world.get("SpeechJob", "ahoy");
    const asked = ahoy.metadata.annotations?.["reconcile.fluxcd.io/requestedAt"];
    await eventually("the request is answered", async () => {
      return (await world.get("SpeechJob", "ahoy")).status?.lastHandledReconcileAt === asked;
    });
  });

  it("is right that a job is paid when it is created, not when it is applied, and that its text stays", async () => {
    const text = "The ferry leaves in five minutes.";
    await shell("kubectl apply -f ahoy.yaml && kubectl apply --server-side --force-conflicts -f ahoy.yaml");
    await expect(shell("sed 's/five minutes/an hour/' ahoy.yaml | kubectl apply -f -")).rejects.toThrow(
      "new SpeechJob",
    );
    expect(await paid(text)).toHaveLength(1);
  });

  it("is right that a job of another controller is left alone, whose status is that controller's", async () => {
    const conditions = ["Complete", "Ready"].map((type) => ({
      type,
      status: "True",
      reason: "Completed",
      message: "elsewhere",
      lastTransitionTime: "2026-03-01T00:00:00Z",
    }));
    const status = JSON.stringify({ status: { phase: "Succeeded", observedGeneration: 1, conditions } });
    await shell(`kubectl patch videojob elsewhere --subresource=status --type=merge -p '${status}'`);
    await shell("kubectl wait --for=condition=Complete videojob/elsewhere --timeout=10s");
    await shell('kubectl patch videojob elsewhere --type=merge -p \'{"spec":{"ttlSecondsAfterFinished":0}}\'');
    // Another job goes its whole way meanwhile.
    await world.apply(manifest("turbo", { text: "meanwhile", ttlSecondsAfterFinished: 0 }, "meanwhile"));
    await eventually(
      "the other is gone",
      async () => (await paid("meanwhile")).length === 1 && !(await has("meanwhile")),
    );
    const { status: after } = await world.get("VideoJob", "elsewhere");
    expect(after).toEqual(JSON.parse(status).status);
    expect(await paid("Waves roll in.")).toHaveLength(1); // that of the job `queued`
  });

  it("gives a workflow the rights that it needs", async () => {
    const as = `--as=system:serviceaccount:${world.namespace}:workflow`;
    const [step] = blocks
      .flatMap((block) => (block.language === "yaml" ? objectsIn(block) : []))
      .flatMap(resourceSteps);
    await writeFile(join(folder, "step.yaml"), step?.manifest ?? "");
    const name = (await shell(`kubectl ${as} ${step?.action} -f step.yaml -o name`)).trim();
    await shell(`kubectl wait --for=condition=Complete ${name} --timeout=60s`);
    expect(await shell(`kubectl ${as} get ${name} -o jsonpath='{.status.results[0].url}'`)).toMatch(/^http/);
    await expect(shell(`kubectl ${as} delete ${name}`)).rejects.toThrow("cannot delete");
  });
});

const has = async (name: string) => (await world.list("SpeechJob")).some(({ metadata }) => metadata.name === name);

describe("a job that a person or a tool waits for", () => {
  type Row = { name: string; object: AnyObject; argo: string; kstatus: string; health: HealthCase["status"] };
  const rows: Row[] = [];
  const add = (name: string, object: AnyObject, argo: string, kstatus: string, health: HealthCase["status"]) =>
    rows.push({ name, object, argo, kstatus, health });

  beforeAll(async () => {
    const hd = (name: string, change = {}) => manifest("hd", { text: `job ${name}`, ...change }, name);
    const reached = (name: string, phase: string) =>
      eventually(`${name} is ${phase}`, async () => {
        const job = await world.get("SpeechJob", name);
        return job.status?.phase === phase && job;
      });
    const task = (match: string, status: string) => [
      { operation: "submitSpeech", match, kind: "status", status: 200, body: { task_id: `task-${match}` } },
      {
        operation: "getTaskResult",
        match: `task-${match}`,
        kind: "status",
        status: 200,
        probability: 1,
        body: { task: { status } },
      },
    ];
    await world.control("POST", "/__faults", [
      ...task("failed", "TASK_STATUS_FAILED"),
      ...task("running", "TASK_STATUS_PROCESSING"),
      { operation: "submitSpeech", match: "halted", kind: "resetAfter" },
    ]);
    for (const name of ["good", "failed", "running", "halted"]) await world.apply(hd(name));
    await world.apply(hd("suspended", { suspend: true }));
    await world.apply(hd("unseen", { managedBy: "example.com/nobody" }));
    await world.apply(manifest("endpoint", {}, "serving"));
    await world.apply({
      ...manifest("account", {}, "keyless"),
      spec: { ...manifest("account").spec, apiKeySecretRef: { name: "none", key: "apiKey" } },
    });

    add("that is complete", await reached("good", "Succeeded"), "succeeded", "Current", "Healthy");
    add("that failed", await reached("failed", "Failed"), "failed", "Failed", "Degraded");
    add("that is halted", await reached("halted", "Halted"), "failed", "Failed", "Degraded");
    add("that runs", await reached("running", "Running"), "waiting", "InProgress", "Progressing");
    const suspended = await waitForCondition(world, "SpeechJob", "suspended", "Suspended");
    add("that is suspended", suspended, "waiting", "InProgress", "Suspended");
    add("that nobody has seen", await world.get("SpeechJob", "unseen"), "waiting", "InProgress", "Progressing");
    add("as an endpoint", await waitForCondition(world, "GpuEndpoint", "serving", "Ready"), "", "Current", "Healthy");
    const keyless = await waitForCondition(world, "Account", "keyless", "Stalled");
    add("as an account without a key", keyless, "", "Failed", "Degraded");
  });

  it("is judged by the conditions of the workflow, which the API server's own label selectors read", async () => {
    const [step] = blocks
      .flatMap((block) => (block.language === "yaml" ? objectsIn(block) : []))
      .flatMap(resourceSteps);
    const jobs = rows.filter(({ argo }) => argo !== "");
    // Argo Workflows takes a condition for a label selector, and the paths in the object for the labels.
    for (const { object } of jobs) {
      const labels = object.status?.phase === undefined ? {} : { "status.phase": object.status.phase };
      const metadata = { name: object.metadata.name, labels: { ...labels, "example.com/of": "workflow" } };
      await writeFile(join(folder, "labels.json"), JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata }));
      await shell("kubectl apply -f labels.json");
    }
    const matching = async (condition = "") =>
      (await shell(`kubectl get configmaps -l 'example.com/of=workflow,${condition}' -o name`)).split("\n");
    const failed = await matching(step?.failureCondition);
    const succeeded = await matching(step?.successCondition);
    for (const { name, object, argo } of jobs) {
      const own = `configmap/${object.metadata.name}`;
      const verdict = failed.includes(own) ? "failed" : succeeded.includes(own) ? "succeeded" : "waiting";
      expect(`${name}: ${verdict}`).toBe(`${name}: ${argo}`);
    }
  });

  it("is judged by kstatus as Flux and Helm do", async () => {
    const expected = rows.map(({ name, kstatus }) => `${name}: ${kstatus}`);
    const verdicts = await kstatusVerdicts(rows.map(({ object }) => object));
    expect(rows.map(({ name }, index) => `${name}: ${verdicts[index]}`)).toEqual(expected);
    const ours = rows.map(({ name, object }) => `${name}: ${kstatusOf(object as Parameters<typeof kstatusOf>[0])}`);
    expect(ours).toEqual(expected);
  });

  it("is judged by Argo CD", async () => {
    const cases = rows.map(({ name, object, health }) => ({ name, obj: object, status: health }));
    const lines = await testHealth(cases);
    for (const { name, status } of cases) expect(lines).toContain(`ok - ${name}: ${status}`);
  });
});
