import { chmod, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { stringify } from "yaml";
import { tools } from "../support/command-line.ts";
import { manifest } from "../support/manifests.ts";
import { run } from "../support/run.ts";
import { BUNDLE, condition, createWorld, type World, waitForCondition } from "../support/world.ts";

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "mooring-cli-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

const taskOf = async (world: World, index: number) => String((await world.audit("submitSpeech"))[index]?.id);

describe("mooring resolve", () => {
  it("attaches a halted job to its task: it succeeds, and one request was paid", async () => {
    const world = await createWorld("resolve");
    const { mooring } = tools(world);
    await world.control("POST", "/__faults", { operation: "submitSpeech", kind: "resetAfter", times: 2 });
    await world.startOperator();
    await world.apply(manifest("hd", { text: "first" }, "first"));
    await waitForCondition(world, "SpeechJob", "first", "Stalled");
    const taskID = await taskOf(world, 0);

    const shown = await mooring("resolve", "speechjob/first");
    expect(shown).toMatchObject({ code: 0, stderr: "" });
    expect(shown.stdout).toMatch(/^SpeechJob \S+\/first is Halted: the outcome of attempt 1 \(submitSpeech, 20\S+Z\)/);
    expect(shown.stdout).toMatch(/bills of 20|Bills of 20/);
    expect(shown.stdout).toContain(`mooring resolve speechjob/first -n ${world.namespace} --task-id TASK_ID`);

    const wrong = await mooring("resolve", "speechjob/first", "--task-id", "no-such-task");
    expect(wrong.code).toBe(1);
    expect(wrong.stderr).toMatch(/stays Halted\. Task no-such-task: the service does not show it/);
    expect(condition(await world.get("SpeechJob", "first"), "TaskAttached")).toMatchObject({ reason: "TaskNotFound" });

    const attached = await mooring("resolve", "speechjob/first", "--task-id", taskID);
    expect(attached).toMatchObject({ code: 0, stderr: "" });
    const done = await waitForCondition(world, "SpeechJob", "first", "Complete");
    expect(done.status).toMatchObject({ phase: "Succeeded", attempts: 1, taskID });
    expect(condition(done, "TaskAttached")).toMatchObject({ status: "True", reason: "Attached" });
    expect(await world.audit("submitSpeech")).toHaveLength(1);
    expect((await mooring("resolve", "speechjob/first", "--resubmit")).stderr).toContain("only a Halted job");

    // Its task belongs to the first job, so another one cannot have it.
    await world.apply(manifest("hd", { text: "second" }, "second"));
    await waitForCondition(world, "SpeechJob", "second", "Stalled");
    const taken = await mooring("resolve", "speechjob/second", "--task-id", taskID);
    expect(taken.stderr).toContain(`Task ${taskID}: SpeechJob first has it`);
    expect(await mooring("resolve", "speechjob/second", "--resubmit")).toMatchObject({ code: 0 });
    await waitForCondition(world, "SpeechJob", "second", "Complete");
    expect(await world.audit("submitSpeech")).toHaveLength(3);
  });
});

describe("mooring say and mooring film", () => {
  it("write a file, and pay once however often the command runs", async () => {
    const world = await createWorld("say");
    const { mooring } = tools(world);
    await world.startOperator();
    const path = await folder();
    const speech = ["Ahoy, sailor", "--voice", "announcer", "-o", join(path, "ahoy.mp3")];

    const first = await mooring("say", ...speech);
    expect(first).toMatchObject({ code: 0, stdout: "" });
    expect(first.stderr).toMatch(/created\n\S+ahoy\.mp3 written \(\d+ bytes\)\n$/);
    expect(first.stderr).not.toContain("\u001b");
    expect((await readFile(join(path, "ahoy.mp3"))).length).toBeGreaterThan(100);
    expect((await mooring("say", ...speech)).stderr).toContain("exists, so nothing is sent");
    expect(await mooring("say", ...speech, "--force")).toMatchObject({ code: 0 });
    expect(await world.audit("synthesizeSpeech")).toHaveLength(1);

    const film = ["waves", "--image", "https://images.example.com/sea.png", "-o", join(path, "sea.mp4"), "--rm"];
    expect(await mooring("film", ...film)).toMatchObject({ code: 0 });
    expect((await readFile(join(path, "sea.mp4"))).length).toBeGreaterThan(100);
    expect(await world.list("VideoJob")).toEqual([]);
    expect(await world.audit("submitImageToVideo")).toHaveLength(1);
  });
});

describe("mooring plan", () => {
  it("shows what an apply changes at the service, with values, and exits as CI needs it", async () => {
    const world = await createWorld("plan");
    const { mooring, kubectl } = tools(world);
    await world.startOperator();
    await waitForCondition(world, "Account", "default", "Ready");
    const path = await folder();
    const write = (name: string, change: Record<string, unknown>) =>
      writeFile(join(path, `${name}.yaml`), stringify(manifest("endpoint", change, name)));
    const plan = async (...args: string[]) => mooring("plan", "-f", path, ...args);

    await write("echo", {});
    const created = await plan("-o", "wide");
    expect(created.code).toBe(2);
    expect(created.stdout).toMatch(/GpuEndpoint \S+\/echo: create an endpoint\n/);
    expect(created.stdout).toMatch(/^ {2}workers\.max +- +2$/m);
    expect(await world.list("GpuEndpoint"), "a plan creates nothing").toEqual([]);

    expect((await kubectl("apply", "-f", path)).code).toBe(0);
    await waitForCondition(world, "GpuEndpoint", "echo", "Ready");
    expect(await plan()).toMatchObject({ code: 0, stderr: "" });

    await write("echo", { workers: { max: 5 }, env: [{ name: "TOKEN", value: "hush-hush" }] });
    const updated = await plan();
    expect(updated.code).toBe(2);
    expect(updated.stdout).toMatch(/^ {2}workers\.max +2 +5$/m);
    expect(updated.stdout).toMatch(/^ {2}env +TOKEN absent +TOKEN=\(hidden\)$/m);
    expect(updated.stdout).not.toContain("hush-hush");

    const sent = await world.audit("updateEndpoint");
    await write("echo", { appName: "another-name" });
    const refused = await plan("-o", "json");
    expect(refused.code).toBe(1);
    expect(JSON.parse(refused.stdout)).toMatchObject({
      items: [{ action: "Conflict", message: expect.stringContaining("appName") }],
    });
    expect(await world.audit("updateEndpoint"), "a plan updates nothing").toHaveLength(sent.length);
  });
});

describe("kubectl mooring", () => {
  it("is the same program under the name of a plugin", async () => {
    const world = await createWorld("plugin");
    const path = await folder();
    await symlink(BUNDLE, join(path, "kubectl-mooring"));
    await chmod(BUNDLE, 0o755);
    const PATH = [path, dirname(process.execPath), process.env["PATH"]].join(delimiter);
    const flags = ["--kubeconfig", inject("kubeconfig"), "--namespace", world.namespace];
    const listed = await run(inject("kubectl"), ["mooring", "status", ...flags, "-o", "name"], { env: { PATH } });
    expect(listed).toMatchObject({ code: 0, stdout: "account.mooring.dev/default\n" });
    const help = await run(inject("kubectl"), ["mooring", "resolve", "--help"], { env: { PATH } });
    expect(help.stdout).toContain("Usage: kubectl mooring resolve");
  });
});
