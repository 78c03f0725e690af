import { delimiter, dirname } from "node:path";
import { expect, inject, it } from "vitest";
import { manifest } from "../support/manifests.ts";
import { run } from "../support/run.ts";
import { BUNDLE, createWorld, eventually, waitForCondition } from "../support/world.ts";
import { paidCalls } from "./paid-calls.ts";

/** Runs a line as a user pastes it, with kubectl on the PATH. */
function paste(line: string) {
  const PATH = `${dirname(inject("kubectl"))}${delimiter}${process.env["PATH"]}`;
  return run("sh", ["-c", line], { env: { PATH, KUBECONFIG: inject("kubeconfig") } });
}

it("kubectl describe of a halted job has the facts, and mooring explain a command to paste for each option", async () => {
  const world = await createWorld("halted");
  await world.control("POST", "/__faults", { operation: "submitSpeech", kind: "resetAfter", times: 3 });
  await world.startOperator();
  const sentAfter = Date.now() - 1_000;
  for (const name of ["job-1-end", "job-2-end", "job-3-end"]) await world.apply(manifest("hd", { text: name }, name));
  for (const name of ["job-1-end", "job-2-end", "job-3-end"])
    await waitForCondition(world, "SpeechJob", name, "Stalled");

  const { stdout: shown } = await paste(`kubectl describe speechjob -n ${world.namespace} job-1-end`);
  const [, sentAt = ""] = /The request \(submitSpeech\) was sent at (\S+Z); its outcome is unknown/.exec(shown) ?? [];
  expect(Date.parse(sentAt)).toBeGreaterThanOrEqual(sentAfter);
  expect(Date.parse(sentAt)).toBeLessThanOrEqual(Date.now());
  expect(shown).toContain("The service may have accepted and charged it");
  for (const option of ["set mooring.dev/attach-task to", "set mooring.dev/resubmit-token to", "or delete the job"])
    expect(shown).toContain(option);

  /** The command of `mooring explain` for an option. */
  async function commandOf(name: string, option: RegExp): Promise<string> {
    const args = ["explain", name, "-n", world.namespace, "--kubeconfig", inject("kubeconfig")];
    const { stdout } = await run(process.execPath, [BUNDLE, ...args]);
    const commands = stdout.split("\n").filter((line) => /^ {2}(kubectl|mooring) /.test(line));
    expect(commands[0]).toBe(`  mooring resolve speechjob/${name} -n ${world.namespace}`);
    return commands.find((line) => option.test(line)) ?? expect.fail(stdout);
  }

  // Send again, which the message says may pay twice.
  expect(await paste(await commandOf("job-1-end", /resubmit-token/))).toMatchObject({ code: 0, stderr: "" });
  const job = await waitForCondition(world, "SpeechJob", "job-1-end", "Complete");
  expect(job.status?.["attempts"]).toBe(2);
  expect((await paidCalls(world)).get("job-1-end")).toHaveLength(2);

  // Attach the task. The user finds its ID in the records of the service.
  const { id, effect } = (await paidCalls(world)).get("job-3-end")?.[0] ?? {};
  const taskID = String(id ?? effect);
  const attach = (await commandOf("job-3-end", /attach-task/)).replace("TASK_ID", taskID);
  expect(await paste(attach)).toMatchObject({ code: 0, stderr: "" });
  const attached = await waitForCondition(world, "SpeechJob", "job-3-end", "Complete");
  expect(attached.status).toMatchObject({ phase: "Succeeded", attempts: 1, taskID, results: [{ kind: "Audio" }] });
  expect((await paidCalls(world)).get("job-3-end")).toHaveLength(1);

  // Give up.
  expect(await paste(await commandOf("job-2-end", /kubectl delete/))).toMatchObject({ code: 0, stderr: "" });
  await eventually("the job is gone", async () =>
    (await world.list("SpeechJob")).every(({ metadata }) => metadata.name !== "job-2-end"),
  );
  expect((await paidCalls(world)).get("job-2-end")).toHaveLength(1);
});
