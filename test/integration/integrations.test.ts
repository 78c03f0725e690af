import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { parse, parseAllDocuments, stringify } from "yaml";
import { z } from "zod";
import { runProgram } from "../../tools/cluster/run-program.ts";
import { manifest } from "../support/manifests.ts";
import { objectsIn, resourceSteps } from "../support/page-manifests.ts";
import { projectRoot } from "../support/pages.ts";
import { createWorld, eventually, type World, waitForCondition } from "../support/world.ts";

const examples = join(projectRoot, "examples/integrations");
const textOf = (name: string) => readFile(join(examples, name), "utf8");

let world: World;
let folder: string;

beforeAll(async () => {
  world = await createWorld("integrations", { simulator: { timeScale: 0.05 } });
  await world.startOperator();
  folder = await mkdtemp(join(tmpdir(), "mooring-integrations-"));
  await mkdir(join(folder, "bin"));
  const kubectl = `'${inject("kubectl")}' --kubeconfig '${inject("kubeconfig")}' --namespace ${world.namespace}`;
  const files = { kubectl: "", "kubectl-as-user": `--as=system:serviceaccount:${world.namespace}:mooring-user` };
  for (const [name, as] of Object.entries(files)) {
    await writeFile(join(folder, `bin/${name}`), `#!/bin/sh\nexec ${kubectl} ${as} "$@"\n`);
    await chmod(join(folder, `bin/${name}`), 0o755);
  }
  await mkdir(join(folder, "user"));
  await symlink(join(folder, "bin/kubectl-as-user"), join(folder, "user/kubectl"));
  await shell("admin", `kubectl apply -f '${join(examples, "rbac.yaml")}'`);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Runs a script with kubectl in the namespace of the test, as administrator or as the ServiceAccount of rbac.yaml. */
const shell = (who: "admin" | "user", script: string, env: Record<string, string> = {}) =>
  runProgram("sh", ["-euc", script], {
    cwd: folder,
    env: {
      ...process.env,
      ...env,
      PATH: `${join(folder, who === "admin" ? "bin" : "user")}:${process.env.PATH}`,
    },
  });

const containerSchema = z.object({
  command: z.tuple([z.literal("sh"), z.literal("-euc")]),
  args: z.tuple([z.string()]),
  env: z.array(z.object({ name: z.string(), value: z.string() })),
});
const cronJobSchema = z.object({
  kind: z.literal("CronJob"),
  spec: z.object({
    jobTemplate: z.object({
      spec: z.object({
        template: z.object({
          spec: z.object({ serviceAccountName: z.literal("mooring-user"), containers: z.tuple([containerSchema]) }),
        }),
      }),
    }),
  }),
});

/** What the container of a CronJob runs, and its environment. */
async function containerOf(name: string): Promise<{ script: string; env: Record<string, string> }> {
  const [cronJob] = parseAllDocuments(await textOf(name))
    .map((document) => document.toJS())
    .filter(({ kind }) => kind === "CronJob");
  const [container] = cronJobSchema.parse(cronJob).spec.jobTemplate.spec.template.spec.containers;
  return { script: container.args[0], env: Object.fromEntries(container.env.map(({ name, value }) => [name, value])) };
}

describe("announcements.yaml", () => {
  it("creates a job for each text, once a day", async () => {
    await shell("admin", `kubectl apply -f '${join(examples, "announcements.yaml")}'`);
    const { data } = JSON.parse(await shell("admin", "kubectl get configmap announcements -o json"));
    await mkdir(join(folder, "texts"));
    for (const [name, text] of Object.entries<string>(data)) await writeFile(join(folder, "texts", name), text);
    const { script, env } = await containerOf("announcements.yaml");
    expect(env).toEqual({ TEXTS: "/texts" });
    await shell("user", script, { TEXTS: join(folder, "texts") });
    const jobs = (await world.list("SpeechJob")).map(({ metadata }) => metadata.name);
    expect(jobs.map((name) => name.replace(/-\d{4}-\d\d-\d\d$/, "")).sort()).toEqual(Object.keys(data).sort());
    for (const name of jobs) await waitForCondition(world, "SpeechJob", name, "Complete");
    await expect(shell("user", script, { TEXTS: join(folder, "texts") })).rejects.toThrow("already exists");
    expect(await world.audit("synthesizeSpeech")).toHaveLength(jobs.length);
  });
});

describe("argo-workflow.yaml", () => {
  it("makes a video with the speech, step by step, with the rights of its ServiceAccount", async () => {
    const [workflow] = objectsIn({ body: await textOf("argo-workflow.yaml") });
    const steps = workflow === undefined ? [] : resourceSteps(workflow);
    expect(steps).toHaveLength(2);
    const urls: string[] = [];
    for (const step of steps) {
      const text = step.manifest.replace("{{inputs.parameters.audio}}", urls.at(-1) ?? "");
      await writeFile(join(folder, "step.yaml"), text);
      const name = (await shell("user", `kubectl ${step.action} -f step.yaml -o name`)).trim();
      const kind = parse(text).kind;
      const object = await eventually(`${name} ends`, async () => {
        const found = await world.get(kind, name.split("/")[1] ?? "");
        return found.status?.["completionTime"] !== undefined && found;
      });
      expect(await holds(step.successCondition, object.status)).toBe(true);
      expect(await holds(step.failureCondition, object.status)).toBe(false);
      urls.push(await shell("user", `kubectl get ${name} -o jsonpath='{.status.results[0].url}'`));
      expect(urls.at(-1)).toMatch(/^http:/);
    }
    const [film] = await world.audit("submitVideoToVideo");
    expect(JSON.stringify(film?.body)).toContain(urls[0]);
  });

  it.each([
    { phase: "Running", success: false, failure: false },
    { phase: "Succeeded", success: true, failure: false },
    { phase: "Failed", success: false, failure: true },
    { phase: "Halted", success: false, failure: true },
  ])(
    "ends a step when the phase is $phase: success $success, failure $failure",
    async ({ phase, success, failure }) => {
      const [workflow] = objectsIn({ body: await textOf("argo-workflow.yaml") });
      for (const step of workflow === undefined ? [] : resourceSteps(workflow)) {
        expect(await holds(step.successCondition, { phase })).toBe(success);
        expect(await holds(step.failureCondition, { phase })).toBe(failure);
      }
    },
  );

  let probes = 0;
  /** Argo Workflows takes a condition for a label selector, and the paths in the object for the labels: so does the API server. */
  async function holds(condition: string, status: Record<string, unknown> | undefined): Promise<boolean> {
    const name = `probe-${++probes}`;
    const metadata = { name, labels: { "status.phase": String(status?.["phase"]), "example.com/probe": name } };
    await writeFile(join(folder, `${name}.yaml`), stringify({ apiVersion: "v1", kind: "ConfigMap", metadata }));
    await shell("admin", `kubectl apply -f ${name}.yaml`);
    return (await shell("admin", `kubectl get configmaps -l 'example.com/probe=${name},${condition}' -o name`)) !== "";
  }
});

describe("tekton-task.yaml", () => {
  const taskSchema = z.object({
    spec: z.object({
      params: z.array(z.object({ name: z.string() })),
      results: z.array(z.object({ name: z.string() })),
      steps: z.array(z.object({ name: z.string(), script: z.string() })),
    }),
  });

  it("makes a video with the speech, step by step, with the rights of its ServiceAccount", async () => {
    const { spec } = taskSchema.parse(parse(await textOf("tekton-task.yaml")));
    for (const { script } of spec.steps) {
      const filled = spec.results.reduce(
        (text, { name }) => text.replaceAll(`$(results.${name}.path)`, join(folder, name)),
        script,
      );
      expect(filled).not.toContain("$(results.");
      await shell("user", filled, { TEXT: "Good night.", PROMPT: "Lanterns" });
    }
    const audio = await readFile(join(folder, "audio"), "utf8");
    expect(audio).toMatch(/^http:/);
    expect(await readFile(join(folder, "video"), "utf8")).toMatch(/^http:/);
    expect(JSON.stringify((await world.audit()).map(({ body }) => body))).toContain(audio);
  });

  it("fails when its job fails", async () => {
    await world.control("POST", "/__config", { failTasks: 1 });
    const { spec } = taskSchema.parse(parse(await textOf("tekton-task.yaml")));
    const script = spec.steps[0]?.script.replaceAll(/\$\(results\.\w+\.path\)/g, "/dev/null") ?? "";
    await expect(shell("user", script, { TEXT: "Fails." })).rejects.toThrow(/is Failed/);
    await world.control("POST", "/__config", { failTasks: 0 });
  });
});

describe("an endpoint behind an autoscaler", () => {
  it("is scaled by kubectl scale, within workers.max, and the HorizontalPodAutoscaler reads its scale", async () => {
    await world.apply(manifest("endpoint", {}, "minimal"));
    await waitForCondition(world, "GpuEndpoint", "minimal", "Ready");
    await shell("admin", "kubectl scale gpuendpoint minimal --replicas=2");
    await eventually("the service has 2 workers", async () => {
      const [endpoint] = (await world.state()).endpoints;
      return JSON.stringify(endpoint).includes('"minNum":2');
    });
    await expect(shell("admin", "kubectl scale gpuendpoint minimal --replicas=3")).rejects.toThrow("workers.max");
    await shell("admin", `kubectl apply -f '${join(examples, "hpa.yaml")}'`);
    const scale = JSON.parse(await shell("admin", "kubectl get gpuendpoint minimal --subresource=scale -o json"));
    expect(scale).toMatchObject({ kind: "Scale", spec: { replicas: 2 } });
    const hpa = await eventually("the autoscaler reads the scale", async () => {
      const { status } = JSON.parse(await shell("admin", "kubectl get hpa minimal -o json"));
      return JSON.stringify(status?.conditions ?? []).includes("AbleToScale") && status;
    });
    expect(hpa.conditions).toContainEqual(expect.objectContaining({ type: "AbleToScale", status: "True" }));
  });

  it("is named by the ScaledObject of KEDA as by the HorizontalPodAutoscaler", async () => {
    const { spec: keda } = parse(await textOf("keda.yaml"));
    const { spec: hpa } = parse(await textOf("hpa.yaml"));
    expect(keda.scaleTargetRef).toEqual(hpa.scaleTargetRef);
    expect(keda.maxReplicaCount).toBe(hpa.maxReplicas);
  });
});

describe("bills-by-mail.yaml", () => {
  it("sends the bills of the last month", async () => {
    await shell("admin", `kubectl apply -f '${join(examples, "bills-by-mail.yaml")}'`);
    const mail = await startMailServer();
    try {
      const { script, env } = await containerOf("bills-by-mail.yaml");
      expect(Object.keys(env)).toEqual(["SMTP_URL", "SENDER", "RECIPIENT"]);
      await shell("user", script, { ...env, SMTP_URL: `smtp://127.0.0.1:${mail.port}` });
      const text = mail.received();
      expect(text).toContain("MAIL FROM:<mooring@example.com>");
      expect(text).toContain("RCPT TO:<finance@example.com>");
      expect(text).toMatch(/Subject: bills-\d{4}-\d\d\r\n\r\n\w+(,\w+)+\r\n/);
    } finally {
      mail.server.close();
    }
  });

  type MailServer = { port: number; server: Server; received(): string };

  /** Accepts every mail, and keeps what the client says. */
  async function startMailServer(): Promise<MailServer> {
    let text = "";
    const server = createServer((socket) => {
      let data = false;
      let line = "";
      socket.write("220 ready\r\n");
      socket.on("data", (chunk) => {
        text += chunk;
        line += chunk;
        for (let end = line.indexOf("\r\n"); end >= 0; end = line.indexOf("\r\n")) {
          const said = line.slice(0, end);
          line = line.slice(end + 2);
          if (data && said !== ".") continue;
          data = said === "DATA";
          socket.write(said === "QUIT" ? "221 bye\r\n" : data ? "354 go on\r\n" : "250 ok\r\n");
        }
      });
      socket.on("error", () => undefined);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    return { port: typeof address === "object" && address !== null ? address.port : 0, server, received: () => text };
  }
});

describe("backstage.yaml and terraform/main.tf", () => {
  it("name an endpoint that the API server accepts, and entities that belong together", async () => {
    const [component, resource] = parseAllDocuments(await textOf("backstage.yaml")).map((document) => document.toJS());
    expect(component.spec.dependsOn).toEqual([`resource:default/${resource.metadata.name}`]);
    const id = "backstage.io/kubernetes-id";
    expect(component.metadata.annotations[id]).toBe(resource.metadata.annotations[id]);
  });

  it("has a manifest in Terraform that the API server accepts", async () => {
    const [, body = ""] = /^ {2}manifest = (\{\n[\s\S]*?^ {2}\})$/m.exec(await textOf("terraform/main.tf")) ?? [];
    // The literal part of HCL that the file uses: keys without quotes, "=", and a new line or a comma between entries.
    const flow = body.replaceAll(/(\w+)\s*= /g, '"$1": ').replaceAll(/(["\d}\]])\n(?=\s*")/g, "$1,\n");
    const object = parse(flow);
    object.metadata.namespace = world.namespace;
    await writeFile(join(folder, "terraform.json"), JSON.stringify(object));
    await shell("admin", "kubectl apply --dry-run=server --validate=strict -f terraform.json");
  });
});

it("every file is on the page", async () => {
  const page = await readFile(join(projectRoot, "docs/how-to/gitops.md"), "utf8");
  const files = (await readdir(examples, { recursive: true })).filter((name) => /\.(yaml|tf)$/.test(name));
  for (const name of files) expect(page, name).toContain(`../examples/integrations/${name}`);
});
