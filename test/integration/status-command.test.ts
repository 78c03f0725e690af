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
    expect(stdout).toMatch(/Event +Warning SubmissionUnknown: /);
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
    expect(stderr).toMatch(/^mooring: .*gpuendpoints .*nothing.*\n$/);
  });
});
