import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { manifest } from "../support/manifests.ts";
import { condition, createWorld, eventually, waitForCondition } from "../support/world.ts";

const QUIET_MS = 20_000;
/** An open circuit lets one call through after 24 s at the earliest, and the next one after another 48 s. */
const MOST_SINGLE_CALLS = 2;

it("a 403 for one operation: its jobs stall with backoff, and nothing else of the account notices", async () => {
  const world = await createWorld("forbidden");
  await world.startOperator();
  const endpoints = ["e-0", "e-1", "e-2"];
  await Promise.all(endpoints.map((name) => world.apply(manifest("endpoint", {}, name))));
  for (const name of endpoints) await waitForCondition(world, "GpuEndpoint", name, "Ready");
  const versions = async () =>
    Promise.all(endpoints.map(async (name) => (await world.get("GpuEndpoint", name)).metadata.resourceVersion));
  await eventually("the endpoints are settled", async () => {
    const before = await versions();
    await sleep(3_000);
    return JSON.stringify(before) === JSON.stringify(await versions());
  });

  const body = { code: 403, reason: "ACCESS_DENIED", message: "video is not allowed", metadata: {} };
  await world.control("POST", "/__faults", {
    operation: "submitImageToVideo",
    kind: "status",
    status: 403,
    body,
    times: 1_000,
  });
  const before = await versions();
  await world.control("DELETE", "/__audit");
  const names = Array.from({ length: 20 }, (_, index) => `v-${index}`);
  await Promise.all(names.map((name) => world.apply(manifest("image", {}, name))));
  for (const name of names) {
    const job = await waitForCondition(world, "VideoJob", name, "Stalled");
    expect(condition(job, "Stalled")).toMatchObject({
      reason: "OperationForbidden",
      message: expect.stringContaining("video is not allowed"),
    });
  }
  // Three refusals open the circuit. How many more are on their way by then depends on the machine.
  const refused = await world.audit("submitImageToVideo");
  expect(refused.length).toBeLessThanOrEqual(names.length);
  await sleep(QUIET_MS); // the storm that must not come has to be waited for

  const requests = await world.audit("submitImageToVideo");
  expect(requests.length - refused.length).toBeLessThanOrEqual(MOST_SINGLE_CALLS);
  const probes = await eventually("the account is probed: that decides whether the key is refused", async () => {
    const calls = await world.audit("getEndpointLimits");
    return calls.length > 0 && calls;
  });
  expect(probes.length).toBeLessThanOrEqual(3);
  expect(await versions()).toEqual(before);
  expect(condition(await world.get("Account", "default"), "Ready")).toMatchObject({ status: "True" });
  await world.apply(manifest("hd", {}, "speech"));
  await waitForCondition(world, "SpeechJob", "speech", "Complete");

  await world.control("DELETE", "/__faults");
  for (const name of names) await waitForCondition(world, "VideoJob", name, "Complete", "True", 240_000);
  console.log(`forbidden: ${requests.length} requests of ${names.length} jobs while the operation was not allowed`);
}, 600_000);
