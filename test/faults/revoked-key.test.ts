import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { manifest } from "../support/manifests.ts";
import { API_KEY, condition, createWorld, eventually, waitForCondition } from "../support/world.ts";

/** By hand, whole: `MOORING_REVOKED_OBJECTS=1000 MOORING_REVOKED_SECONDS=120 npx vitest run test/faults/revoked-key`. */
const OBJECTS = Number(process.env.MOORING_REVOKED_OBJECTS ?? 50);
const SECONDS = Number(process.env.MOORING_REVOKED_SECONDS ?? 20);

it(`${OBJECTS} jobs and ${OBJECTS} endpoints whose key is revoked for ${SECONDS} s: single calls a minute, and all go on after`, {
  timeout: SECONDS * 1_000 + 600_000,
}, async () => {
  const world = await createWorld("revoked", { simulator: { timeScale: 1, bootDelayMs: 0, apiKeys: [API_KEY] } });
  for (let i = 0; i < OBJECTS; i++) await world.apply(manifest("endpoint", {}, `e-${i}`));
  for (let i = 0; i < OBJECTS; i++) await world.apply(manifest("hd", {}, `j-${i}`));
  await world.startOperator();
  const taken = async (least: number) => {
    const { tasks, endpoints } = await world.state();
    return tasks.length >= least && endpoints.length >= least;
  };
  await eventually("half of them are at the service", () => taken(OBJECTS / 2), 240_000);

  await world.control("POST", "/__config", { apiKeys: ["another-key"] });
  await waitForCondition(world, "Account", "default", "Authenticated", "False");
  await sleep(1_000); // what was on its way when the first refusal came
  await world.control("DELETE", "/__audit");
  await sleep(SECONDS * 1_000); // calls that must not come have to be waited for
  const calls = await world.audit();
  const perMinute = (calls.length * 60) / SECONDS;
  expect(calls.filter(({ operation }) => operation !== "getEndpointLimits")).toEqual([]);
  expect(perMinute).toBeLessThan(10);

  const restored = performance.now();
  await world.control("POST", "/__config", { apiKeys: [API_KEY] });
  for (const kind of ["GpuEndpoint", "SpeechJob"]) {
    await eventually(
      `every ${kind} goes on`,
      async () => (await world.list(kind)).every((object) => condition(object, "Ready")?.status === "True"),
      400_000,
    );
  }
  const { endpoints, tasks } = await world.state();
  expect({ endpoints: endpoints.length, tasks: tasks.length }).toEqual({ endpoints: OBJECTS, tasks: OBJECTS });
  const seconds = Math.round((performance.now() - restored) / 1_000);
  console.log(`${calls.length} calls in ${SECONDS} s of a revoked key; all ${2 * OBJECTS} well ${seconds} s after it`);
});
