import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { manifest } from "../support/manifests.ts";
import { API_KEY, condition, createWorld, eventually, waitForCondition } from "../support/world.ts";

const QUIET_MS = 20_000;

it("a wrong key: one clear condition, dependants held, no call storm, recovery by itself after the right Secret", async () => {
  const world = await createWorld("key", { apiKey: "wrong-key" });
  const names = Array.from({ length: 20 }, (_, index) => `n-${index}`);
  await Promise.all(names.map((name) => world.apply(manifest("endpoint", {}, name))));
  await Promise.all(names.map((name) => world.apply(manifest("hd", {}, name))));
  const operator = await world.startOperator();

  const account = await waitForCondition(world, "Account", "default", "Authenticated", "False");
  expect(condition(account, "Authenticated")).toMatchObject({ reason: "Unauthorized" });
  expect(condition(account, "Stalled")?.message).toMatch(/put a valid key into the Secret of apiKeySecretRef$/);
  expect(condition(account, "Ready")?.status).toBe("False");
  for (const kind of ["GpuEndpoint", "SpeechJob"]) {
    await eventually(`every ${kind} is held`, async () =>
      (await world.list(kind)).every((object) => condition(object, "Ready")?.reason === "AccountNotReady"),
    );
  }
  const [held] = await world.list("GpuEndpoint");
  expect(condition(held as never, "Ready")?.message).toContain("Account default is not ready");

  await world.control("DELETE", "/__audit");
  await sleep(QUIET_MS); // the storm that must not come has to be waited for
  const calls = await world.audit();
  expect(calls.every(({ status }) => status === 401)).toBe(true);
  expect(calls.length).toBeLessThanOrEqual(3);

  const fixedAt = performance.now();
  await world.patch("Secret", "key", { stringData: { apiKey: API_KEY } });
  await waitForCondition(world, "Account", "default", "Ready");
  for (const kind of ["GpuEndpoint", "SpeechJob"]) {
    await eventually(`every ${kind} goes on`, async () =>
      (await world.list(kind)).every((object) => condition(object, "Ready")?.status === "True"),
    );
  }
  const seconds = (performance.now() - fixedAt) / 1000;
  console.log(
    `wrong key: ${calls.length} calls in ${QUIET_MS / 1000} s while held; all recovered ${seconds.toFixed(0)} s after the fix`,
  );
  expect(operator.log()).not.toContain("wrong-key");
  expect(operator.log()).not.toContain(API_KEY);
});
