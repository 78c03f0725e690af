import { type ChildProcess, spawn } from "node:child_process";
import { describe, expect, inject, it } from "vitest";
import { manifest } from "../support/manifests.ts";
import { run } from "../support/run.ts";
import { BUNDLE, createWorld, eventually, type World, waitForCondition } from "../support/world.ts";

const mooring = ({ namespace }: World, ...args: string[]) =>
  run(process.execPath, [BUNDLE, ...args, `--kubeconfig=${inject("kubeconfig")}`, `--namespace=${namespace}`]);

/** A job whose only response is lost. */
async function haltedWorld(prefix: string): Promise<World> {
  const world = await createWorld(prefix);
  await world.control("POST", "/__faults", { kind: "resetAfter", operation: "synthesizeSpeech" });
  await world.startOperator();
  await world.apply(manifest("turbo", {}, "greeting"));
  await waitForCondition(world, "SpeechJob", "greeting", "Stalled");
  return world;
}

describe.concurrent("what a user sees", () => {
  it("status names the object that needs a user, and explain has the commands and the history", async () => {
    const world = await haltedWorld("status");
    const status = await mooring(world, "status", "--exit-code");
    expect([status.code, status.stderr]).toEqual([3, ""]);
    const [, first, second] = status.stdout.split("\n");
    expect(first).toMatch(/SpeechJob\/greeting +Halted +SubmissionUnknown/);
    expect(second).toMatch(/Account\/default +Ready/);
    expect(status.stdout).toContain(
      `1 needs you. Start with: mooring explain speechjob/greeting -n ${world.namespace}`,
    );

    const { code, stdout } = await mooring(world, "explain", "speechjob/greeting");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^SpeechJob .*\/greeting: Halted \(SubmissionUnknown\), for \d+s\n/);
    expect(stdout).toContain(`  kubectl delete speechjob -n ${world.namespace} greeting\n`);
    expect(stdout).toMatch(/Request +attempt 1: Unknown/);
    expect(stdout).toMatch(/Event +Warning SubmissionUnknown$/m);
    expect(stdout.match(/was sent at/g)).toHaveLength(1);
    expect(stdout).toMatch(/Condition +Stalled=True \(SubmissionUnknown\)/);
  });

  it("status --watch prints a line for each change", async () => {
    const world = await createWorld("watch");
    await world.startOperator();
    await waitForCondition(world, "Account", "default", "Ready");
    const flags = [`--kubeconfig=${inject("kubeconfig")}`, `--namespace=${world.namespace}`];
    const watching: ChildProcess = spawn(process.execPath, [BUNDLE, "status", "--watch", ...flags]);
    let printed = "";
    watching.stdout?.on("data", (chunk: Buffer) => {
      printed += chunk;
    });
    const ended = new Promise<number | null>((resolve) => watching.on("exit", resolve));
    try {
      await eventually("the list is printed", async () => printed.includes("none needs you"));
      await world.apply(manifest("turbo", {}, "greeting"));
      const line = new RegExp(`${world.namespace} SpeechJob/greeting {3}.*-> Succeeded \\(`);
      await eventually("the success is printed", async () => line.test(printed));
    } finally {
      watching.kill("SIGINT");
    }
    expect(await ended).toBe(0);
  });

  it("an object that does not exist is one line", async () => {
    const world = await createWorld("explain");
    const { code, stderr } = await mooring(world, "explain", "gpuendpoint/nothing");
    expect(code).toBe(1);
    expect(stderr).toBe(
      `mooring: GpuEndpoint ${world.namespace}/nothing does not exist. To list those that do: mooring status gpuendpoints -n ${world.namespace}\n`,
    );
  });

  it("a namespace that does not exist is an error, not an empty list", async () => {
    const { code, stdout, stderr } = await run(process.execPath, [
      BUNDLE,
      "status",
      `--kubeconfig=${inject("kubeconfig")}`,
      "--namespace=no-such-namespace",
    ]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toBe(
      "mooring: -n no-such-namespace: there is no such namespace. To list all: kubectl get namespaces\n",
    );
  });

  it("status lists kinds and labels as kubectl does, and shows what objects cost with -o wide", async () => {
    const world = await createWorld("select");
    await world.startOperator();
    const labeled = (name: string, app: string) => {
      const job = manifest("turbo", {}, name);
      return { ...job, metadata: { ...job.metadata, labels: { app } } };
    };
    await world.apply(labeled("one", "book"));
    await world.apply(labeled("two", "clip"));
    await world.apply(manifest("endpoint", {}, "echo"));
    for (const name of ["one", "two"]) await waitForCondition(world, "SpeechJob", name, "Complete");
    const names = async (...args: string[]) => (await mooring(world, "status", "-o", "name", ...args)).stdout;
    expect(await names("speechjobs", "-l", "app=book")).toBe("speechjob.mooring.dev/one\n");
    expect(await names("gpuep,videojob")).toBe("gpuendpoint.mooring.dev/echo\n");
    const wide = (await mooring(world, "status", "speech", "-o", "wide")).stdout.split("\n");
    expect(wide[0]).toMatch(/PROGRESS +ELAPSED +LEFT +COST +ACCOUNT +REMOTE ID +MESSAGE$/);
    expect(wide[1]).toMatch(/SpeechJob\/one +Succeeded .* \d+s +- .* Account\/default /);
    expect((await mooring(world, "explain", "echo")).stdout).toContain(`GpuEndpoint ${world.namespace}/echo: `);
  });

  it("logs, open and cancel act on the object that a user names", async () => {
    const world = await createWorld("acts");
    await world.startOperator();
    await world.apply(manifest("endpoint", {}, "echo"));
    await world.apply(manifest("turbo", {}, "greeting"));
    await world.apply(manifest("hd", { suspend: true }, "held"));
    await waitForCondition(world, "GpuEndpoint", "echo", "Ready");
    const logs = await mooring(world, "logs", "echo");
    expect(logs.stdout).toMatch(/^GpuEndpoint \S+\/echo \(\S+\): \w+\nWORKER +STATE +HEALTHY +DRAINING +LOG/);
    expect(logs.stdout).toMatch(/^(worker-\S+) +ready +yes +no +\/logs\/\1$/m);

    await waitForCondition(world, "SpeechJob", "greeting", "Complete");
    const { status } = await world.get("SpeechJob", "greeting");
    expect(status).toMatchObject({ results: [{ url: expect.any(String) }] });
    const opened = await mooring(world, "open", "greeting", "--print");
    expect(opened.code).toBe(0);
    expect(status).toMatchObject({ results: [{ url: opened.stdout.trim() }] });
    expect(await mooring(world, "open", "held")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("has no result"),
    });

    expect(await mooring(world, "cancel", "greeting")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("is Succeeded: there is nothing to cancel"),
    });
    expect(await mooring(world, "cancel", "speechjob", "held")).toMatchObject({
      code: 0,
      stdout: `SpeechJob ${world.namespace}/held is deleted: nothing was sent\n`,
    });
    await eventually("the job is gone", async () =>
      (await world.list("SpeechJob")).every(({ metadata }) => metadata.name !== "held"),
    );
    expect(await world.audit("submitSpeech")).toEqual([]);
  });
});
