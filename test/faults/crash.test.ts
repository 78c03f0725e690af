import { describe, expect, inject, it } from "vitest";
import { startProxy, type Trap } from "../../tools/chaos/proxy.ts";
import { targetOf } from "../../tools/cluster/credentials.ts";
import { manifest } from "../support/manifests.ts";
import { openRecordsOf } from "../support/open-records.ts";
import {
  condition,
  createWorld,
  eventually,
  type Operator,
  plainKubeconfig,
  waitForCondition,
} from "../support/world.ts";

type Moment = "before" | "after";
/** `turn`: which of these requests it is, from 1; default: the first. */
type Step = { side: "kubernetes" | "service"; method: string; path: RegExp; turn?: number };

const CREATE: Step = { side: "service", method: "POST", path: /endpoint\/create/ };
const READ: Step = { side: "service", method: "GET", path: /gpus\/v2\/endpoints\/[^?]/ };
const SUBMIT: Step = { side: "service", method: "POST", path: /vendor-speech/ };
const ENDPOINT_RECORD: Step = { side: "kubernetes", method: "PATCH", path: /gpuendpoints\/[^/]+$/ };
const ENDPOINT_STATUS: Step = { side: "kubernetes", method: "PUT", path: /gpuendpoints\/.*\/status/ };
const JOB_RECORD: Step = { side: "kubernetes", method: "PUT", path: /speechjobs\/.*\/status/ };
const JOB_STATUS: Step = { ...JOB_RECORD, turn: 2 };

/** A world whose operator dies with SIGKILL at one request, between the operator and the server it is for. */
async function crashAt(step: Step, moment: Moment) {
  const world = await createWorld("crash", { account: null });
  let operator: Operator | undefined;
  let sprung = false;
  let armed = false;
  let turn = 0;
  const trap =
    (side: Step["side"]): Trap =>
    ({ method, path }) => {
      if (!armed || sprung || side !== step.side || method !== step.method || !step.path.test(path)) return "pass";
      if (++turn < (step.turn ?? 1)) return "pass";
      sprung = true;
      return moment;
    };
  const died = Promise.withResolvers<void>();
  const spring = () => {
    operator?.kill().then(died.resolve, died.reject);
  };
  const kubernetes = await startProxy(await targetOf(inject("kubeconfig")), trap("kubernetes"), spring);
  const service = await startProxy({ url: world.simulator.url }, trap("service"), spring);
  const kubeconfig = await plainKubeconfig(kubernetes.url);
  await world.apply({
    kind: "Account",
    metadata: { name: "default" },
    spec: { baseURL: service.url, apiKeySecretRef: { name: "key", key: "apiKey" } },
  });
  operator = await world.startOperator({ kubeconfig });
  await waitForCondition(world, "Account", "default", "Ready");
  armed = true;
  return {
    world,
    died: died.promise,
    restart: () => world.startOperator({ kubeconfig }),
    close: () => Promise.all([kubernetes.close(), service.close()]),
  };
}

const moments: Moment[] = ["before", "after"];
const cases = (steps: [string, Step][]): [Moment, string, Step][] =>
  steps.flatMap(([name, step]) => moments.map((moment): [Moment, string, Step] => [moment, name, step]));

describe("kill -9 at each await between record and outcome: never a second endpoint", () => {
  it.concurrent.each(
    cases([
      ["the record", ENDPOINT_RECORD],
      ["the create", CREATE],
      ["the read after it", READ],
      ["the status write", ENDPOINT_STATUS],
    ]),
  )("%s %s", async (moment, _name, step) => {
    const { world, died, restart, close } = await crashAt(step, moment);
    await world.apply(manifest("endpoint", {}, "only"));
    await died;
    await restart();
    const ready = await waitForCondition(world, "GpuEndpoint", "only", "Ready", "True", 120_000);
    const { endpoints } = await world.state();
    expect(endpoints.map(({ id }) => id)).toEqual([ready.status?.endpointID]);
    const effective = (await world.audit("createEndpoint")).filter(({ id }) => id !== undefined);
    expect(effective).toHaveLength(1);
    await eventually("the outcome is shown", async () => (await openRecordsOf(world)).length === 0);
    await close();
  });
});

describe("kill -9 at each await between record and outcome: never a second task", () => {
  it.concurrent.each(
    cases([
      ["the record", JOB_RECORD],
      ["the submission", SUBMIT],
      ["the status write", JOB_STATUS],
    ]),
  )("%s %s", async (moment, _name, step) => {
    const { world, died, restart, close } = await crashAt(step, moment);
    await world.apply(manifest("hd", {}, "only"));
    await died;
    const sentBefore = (await world.audit("submitSpeech")).length;
    await restart();
    const settled = await eventually("the job is finished or halted", async () => {
      const job = await world.get("SpeechJob", "only");
      return ["Succeeded", "Halted"].includes(String(job.status?.phase)) && job;
    });
    expect((await world.audit("submitSpeech")).length).toBeLessThanOrEqual(Math.max(1, sentBefore));

    if (settled.status?.phase === "Halted") {
      expect(condition(settled, "Stalled")).toMatchObject({ status: "True", reason: "SubmissionUnknown" });
      expect(condition(settled, "Ready")?.status).toBe("False");
      // Only a person's word sends it again, and then once.
      await world.patch("SpeechJob", "only", {
        metadata: { annotations: { "mooring.dev/resubmit-token": "checked" } },
      });
      const done = await waitForCondition(world, "SpeechJob", "only", "Complete");
      expect(done.status).toMatchObject({ attempts: 2, lastHandledResubmitToken: "checked" });
      expect((await world.audit("submitSpeech")).length).toBe(sentBefore + 1);
    } else {
      // Finished by itself: then it is certain that nothing was lost, and one task was paid for.
      expect(settled.status).toMatchObject({ attempts: 1 });
      expect((await world.audit("submitSpeech")).length).toBe(1);
    }
    await close();
  });
});
