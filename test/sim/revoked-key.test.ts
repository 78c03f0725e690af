import { expect, it, onTestFinished } from "vitest";
import { manifest } from "../support/manifests.ts";
import { condition } from "../support/world.ts";
import { API_KEY, createStage, waitForCondition } from "./stage/stage.ts";

const OBJECTS = 50;
const SECONDS = 120;

it(`${OBJECTS} jobs and ${OBJECTS} endpoints whose key is revoked for ${SECONDS} s: single calls a minute, and all go on after`, async () => {
  const stage = await createStage({ simulator: { timeScale: 1, bootDelayMs: 0, apiKeys: [API_KEY] } });
  for (let i = 0; i < OBJECTS; i++) await stage.apply(manifest("endpoint", {}, `e-${i}`));
  for (let i = 0; i < OBJECTS; i++) await stage.apply(manifest("hd", {}, `j-${i}`));
  stage.start();
  onTestFinished(stage.end);
  const taken = async (least: number) => {
    const { tasks, endpoints } = await stage.state();
    return tasks.length >= least && endpoints.length >= least;
  };
  await stage.eventually("half of them are at the service", () => taken(OBJECTS / 2), 240_000);

  await stage.control("POST", "/__config", { apiKeys: ["another-key"] });
  await waitForCondition(stage, "Account", "default", "Authenticated", "False");
  await stage.pass(1_000); // what was on its way when the first refusal came
  await stage.control("DELETE", "/__audit");
  await stage.pass(SECONDS * 1_000);
  const calls = await stage.audit();
  const perMinute = (calls.length * 60) / SECONDS;
  expect(calls.filter(({ operation }) => operation !== "getEndpointLimits")).toEqual([]);
  expect(perMinute).toBeLessThan(10);

  const restored = stage.scheduler.now();
  await stage.control("POST", "/__config", { apiKeys: [API_KEY] });
  for (const kind of ["GpuEndpoint", "SpeechJob"]) {
    await stage.eventually(
      `every ${kind} goes on`,
      async () => (await stage.list(kind)).every((object) => condition(object, "Ready")?.status === "True"),
      400_000,
    );
  }
  const { endpoints, tasks } = await stage.state();
  expect({ endpoints: endpoints.length, tasks: tasks.length }).toEqual({ endpoints: OBJECTS, tasks: OBJECTS });
  const seconds = Math.round((stage.scheduler.now() - restored) / 1_000);
  console.log(`${calls.length} calls in ${SECONDS} s of a revoked key; all ${2 * OBJECTS} well ${seconds} s after it`);
});
