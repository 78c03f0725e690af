import { delimiter, dirname } from "node:path";
import { expect, inject, it } from "vitest";
import { manifest } from "../support/manifests.ts";
import { run } from "../support/run.ts";
import { createWorld, eventually, waitForCondition } from "../support/world.ts";
import { paidCalls } from "./paid-calls.ts";

/** Runs a line as a user pastes it, with kubectl on the PATH. */
function paste(line: string) {
  const PATH = `${dirname(inject("kubectl"))}${delimiter}${process.env["PATH"]}`;
  return run("sh", ["-c", line], { env: { PATH, KUBECONFIG: inject("kubeconfig") } });
}

it("kubectl describe of a halted job has the facts, and a command to paste for each option", async () => {
  const world = await createWorld("halted");
  await world.control("POST", "/__faults", { operation: "submitSpeech", kind: "resetAfter", times: 3 });
  await world.startOperator();
  const sentAfter = Date.now() - 1_000;
  for (const name of ["job-1-end", "job-2-end", "job-3-end"]) await world.apply(manifest("hd", { text: name }, name));
  const describe = async (name: string) => {
    await waitForCondition(world, "SpeechJob", name, "Stalled");
    const { stdout } = await paste(`kubectl describe speechjob -n ${world.namespace} ${name}`);
    return stdout;
  };
  const [shown, other] = [await describe("job-1-end"), await describe("job-2-end")];
  const third = await describe("job-3-end");

  const [, sentAt = ""] = /The request \(submitSpeech\) was sent at (\S+Z); its outcome is unknown/.exec(shown) ?? [];
  expect(Date.parse(sentAt)).toBeGreaterThanOrEqual(sentAfter);
  expect(Date.parse(sentAt)).toBeLessThanOrEqual(Date.now());
  expect(shown).toContain("The service may have accepted and charged it");
  const commandOf = (output: string, option: RegExp) => option.exec(output)?.[1] ?? expect.fail(output);

  // Send again, which the message says may pay twice.
  const again = commandOf(shown, /Send again, which may pay twice: (kubectl .*?) give up:/);
  expect(await paste(again)).toMatchObject({ code: 0, stderr: "" });
  const job = await waitForCondition(world, "SpeechJob", "job-1-end", "Complete");
  expect(job.status?.["attempts"]).toBe(2);
  expect((await paidCalls(world)).get("job-1-end")).toHaveLength(2);

  // Attach the task. The user finds its ID in the records of the service.
  const { id, effect } = (await paidCalls(world)).get("job-3-end")?.[0] ?? {};
  const taskID = String(id ?? effect);
  const attach = commandOf(third, /If it has a task, attach it: (kubectl .*?) Send again/).replace("TASK_ID", taskID);
  expect(await paste(attach)).toMatchObject({ code: 0, stderr: "" });
  const attached = await waitForCondition(world, "SpeechJob", "job-3-end", "Complete");
  expect(attached.status).toMatchObject({ phase: "Succeeded", attempts: 1, taskID, results: [{ kind: "Audio" }] });
  expect((await paidCalls(world)).get("job-3-end")).toHaveLength(1);

  // Give up.
  const giveUp = commandOf(other, /give up: (kubectl delete speechjob -n \S+ \S+)$/m);
  expect(await paste(giveUp)).toMatchObject({ code: 0, stderr: "" });
  await eventually("the job is gone", async () =>
    (await world.list("SpeechJob")).every(({ metadata }) => metadata.name !== "job-2-end"),
  );
  expect((await paidCalls(world)).get("job-2-end")).toHaveLength(1);
});
