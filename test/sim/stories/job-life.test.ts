import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventResource } from "../../../src/kube/resource.ts";
import { manifest } from "../../support/manifests.ts";
import type { AnyObject } from "../../support/world.ts";
import { createStage, type Stage, waitForCondition } from "../stage/stage.ts";

let world: Stage;
beforeAll(async () => {
  world = await createStage({ simulator: { timeScale: 0.1, speechMaxCharacters: 50_000 } });
  world.start();
});
afterAll(() => world.end());

type Event = AnyObject & { reason: string; type: string; note: string; regarding: { name: string } };
const events = async (name: string, reason: string): Promise<Event[]> =>
  (await world.kube.list<Event>(eventResource, { namespace: world.namespace })).items.filter(
    (event) => event.regarding.name === name && event.reason === reason,
  );
const calls = async (operation: string, text: string) =>
  (await world.audit(operation)).filter(({ body }) => JSON.stringify(body).includes(text));
/** A task that never ends. */
const endless = (match: string) =>
  world.control("POST", "/__faults", [
    { operation: "submitSpeech", match, kind: "status", status: 200, body: { task_id: `endless-${match}` } },
    {
      operation: "getTaskResult",
      match: `endless-${match}`,
      kind: "status",
      status: 200,
      probability: 1,
      body: { task: { status: "TASK_STATUS_PROCESSING", progress_percent: 5 } },
    },
  ]);
const phase = (kind: string, name: string, wanted: string) =>
  world.eventually(`${name} is ${wanted}`, async () => {
    const job = await world.get(kind, name);
    return job.status?.phase === wanted && job;
  });
const gone = (kind: string, name: string) =>
  world.eventually(
    `${name} is gone`,
    async () => !(await world.list(kind)).some(({ metadata }) => metadata.name === name),
  );

describe("deleting a job", () => {
  it("before it was submitted makes no call and tells nothing", async () => {
    await world.apply(manifest("hd", { text: "never sent", suspend: true }, "unsent"));
    await waitForCondition(world, "SpeechJob", "unsent", "Suspended");
    await world.remove("SpeechJob", "unsent");
    await gone("SpeechJob", "unsent");
    expect(await calls("submitSpeech", "never sent")).toEqual([]);
    expect(await events("unsent", "TaskRunsOn")).toEqual([]);
  });

  it("after it was submitted tells that the task runs on and is charged, and asks about it no more", async () => {
    await endless("runs on");
    await endless("witness");
    await world.apply(manifest("hd", { text: "a witness" }, "witness"));
    await world.apply(manifest("hd", { text: "it runs on" }, "abandoned"));
    await phase("SpeechJob", "abandoned", "Running");
    await world.remove("SpeechJob", "abandoned");
    const [event] = await world.eventually("the event is there", async () => {
      const found = await events("abandoned", "TaskRunsOn");
      return found.length > 0 && found;
    });
    expect(event).toMatchObject({
      type: "Warning",
      note: "Deleted after it was submitted: task endless-runs on continues at the service and is charged",
    });
    const polls = async (taskID: string) =>
      (await world.audit("getTaskResult")).filter(({ query }) => query?.task_id === taskID).length;
    const before = { deleted: await polls("endless-runs on"), witness: await polls("endless-witness") };
    await world.eventually(
      "another task was asked about",
      async () => (await polls("endless-witness")) > before.witness + 2,
    );
    expect(await polls("endless-runs on")).toBeLessThanOrEqual(before.deleted + 1);
  });

  it("whose request is on its way tells when the answer is here", async () => {
    await world.control("POST", "/__faults", {
      operation: "submitSpeech",
      match: "slow answer",
      kind: "latency",
      latencyMs: 4_000,
      after: true,
    });
    await world.apply(manifest("hd", { text: "slow answer" }, "hasty"));
    await world.eventually("it was sent", async () => (await calls("submitSpeech", "slow answer")).length === 1);
    await world.remove("SpeechJob", "hasty");
    await world.eventually("the event is there", async () => (await events("hasty", "TaskRunsOn")).length === 1);
  });
});
