import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { FaultInput } from "../../src/simulator/faults.ts";
import { PAID, paidCalls } from "../faults/paid-calls.ts";
import { manifest, type Variant } from "../support/manifests.ts";
import { type AnyObject, condition } from "../support/world.ts";
import { type Stage, waitForCondition } from "./stage/stage.ts";
import { startedStage } from "./stage/started.ts";

const JOBS = 50;
/** Statuses in the service's own format, after the effect; together they hit 40 % of the calls. */
const STATUSES = [500, 503, 408, 499];
const EACH = 1 - 0.6 ** (1 / STATUSES.length);

const QUICK = { simulator: { timeScale: 0.1 } };

const VARIANTS: readonly [Variant, (text: string) => Record<string, unknown>][] = [
  ["hd", (text) => ({ text })],
  ["turbo", (text) => ({ text })],
  ["turbo", (text) => ({ text, stream: true, output: { storeRef: { name: "results" } } })],
  ["image", (text) => ({ imageToVideo: { prompt: text } })],
  ["reference", (text) => ({ videoToVideo: { input: { prompt: text } } })],
];

const jobsOf = async (stage: Stage): Promise<AnyObject[]> => [
  ...(await stage.list("SpeechJob")),
  ...(await stage.list("VideoJob")),
];
const phaseOf = ({ status }: AnyObject) => String(status?.["phase"]);

it(`${JOBS} jobs of all kinds, and 40 % of the paid calls take effect and fail: none is paid twice`, async () => {
  const root = await mkdtemp(join(tmpdir(), "mooring-unknown-"));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const stage = await startedStage({ ...QUICK, artifactRoot: root });
  const faults = PAID.flatMap((operation) =>
    STATUSES.map((status): FaultInput => ({ operation, kind: "status", status, after: true, probability: EACH })),
  );
  await stage.control("POST", "/__faults", faults);
  await stage.apply({ kind: "ArtifactStore", metadata: { name: "results" }, spec: { volume: { path: "results" } } });
  for (let index = 0; index < JOBS; index++) {
    const [variant, textOf] = VARIANTS[index % VARIANTS.length] as (typeof VARIANTS)[number];
    const name = `job-${index}-end`;
    await stage.apply(manifest(variant, textOf(name), name));
  }

  const jobs = await stage.eventually(
    "every job has succeeded or asks a person",
    async () => {
      const all = await jobsOf(stage);
      return all.every((job) => ["Succeeded", "Halted"].includes(phaseOf(job))) && all;
    },
    500_000,
  );
  const calls = await paidCalls(stage);
  const halted = jobs.filter((job) => phaseOf(job) === "Halted");
  for (const job of jobs) {
    const { name } = job.metadata;
    const sent = calls.get(name) ?? [];
    expect(sent.length, `${name} was sent more than once`).toBe(1);
    expect(sent.filter(({ effect }) => effect !== undefined).length, `${name} was paid more than once`).toBe(1);
    expect(phaseOf(job), name).toBe(sent[0]?.fault === undefined ? "Succeeded" : "Halted");
    if (phaseOf(job) === "Halted") expect(condition(job, "Stalled")?.reason).toBe("SubmissionUnknown");
  }
  expect(halted.length).toBeGreaterThan(0);
  expect(halted.length).toBeLessThan(JOBS);
});

it("an outage of a paid operation halts few jobs: the others wait, and are sent when it works again", async () => {
  const stage = await startedStage(QUICK);
  const operation = "submitImageToVideo";
  await stage.control("POST", "/__faults", { operation, kind: "status", status: 500, after: true, probability: 1 });
  const apply = (index: number) => {
    const name = `job-${index}-end`;
    return stage.apply(manifest("image", { imageToVideo: { prompt: name } }, name));
  };
  // Three unknown outcomes in a row open the circuit.
  for (let index = 0; index < 3; index++) {
    await apply(index);
    await stage.eventually(`job ${index} is halted`, async () =>
      (await jobsOf(stage)).every((job) => phaseOf(job) === "Halted"),
    );
  }
  for (let index = 3; index < JOBS; index++) await apply(index);
  await stage.eventually("every job was halted or held back", async () =>
    (await jobsOf(stage)).every(
      (job) => phaseOf(job) === "Halted" || condition(job, "Ready")?.message?.includes("keeps failing"),
    ),
  );
  // Single tries after 5, 10 and 20 s; nothing else is sent.
  const sent = (await paidCalls(stage)).size;
  expect(sent).toBeLessThanOrEqual(6);

  await stage.control("DELETE", "/__faults");
  const settled = await stage.eventually(
    "the others succeed",
    async () => {
      const all = await jobsOf(stage);
      return all.every((job) => ["Succeeded", "Halted"].includes(phaseOf(job))) && all;
    },
    200_000,
  );
  expect(settled.filter((job) => phaseOf(job) === "Succeeded").length).toBeGreaterThanOrEqual(JOBS - 7);
  for (const [name, calls] of await paidCalls(stage)) expect(calls.length, name).toBe(1);
});

it("an update that fails, or reports an error in a 2xx, is sent again and is no drift fight", async () => {
  const stage = await startedStage(QUICK);
  await stage.apply(manifest("endpoint", {}, "echo"));
  await waitForCondition(stage, "GpuEndpoint", "echo", "Ready");
  const operation = "updateEndpoint";
  const error = { code: 500, reason: "INTERNAL_ERROR", message: "the update failed", metadata: {} };
  await stage.control("POST", "/__faults", [
    { operation, kind: "status", status: 200, body: error, times: 2 },
    { operation, kind: "status", status: 500, times: 4 },
  ]);
  await stage.patch("GpuEndpoint", "echo", { spec: { workers: { max: 3 } } });
  await stage.eventually("the endpoint says that the update failed", async () => {
    const { conditions = [] } = (await stage.get("GpuEndpoint", "echo")).status ?? {};
    return conditions.some(({ message }) => message?.includes("the update failed"));
  });
  const synced = await stage.eventually(
    "the update took effect",
    async () => {
      const echo = await stage.get("GpuEndpoint", "echo");
      const [endpoint] = (await stage.state()).endpoints;
      const max = (endpoint as { parameters?: { workerConfig?: { maxNum?: number } } })?.parameters?.workerConfig
        ?.maxNum;
      const reason = condition(echo, "Synced")?.reason;
      expect(reason).not.toBe("DriftFight");
      return max === 3 && condition(echo, "Synced")?.status === "True" && echo;
    },
    120_000,
  );
  expect(condition(synced, "Synced")?.status).toBe("True");
});
