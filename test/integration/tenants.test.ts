import { expect, it } from "vitest";
import { API_KEY, condition, createWorld, waitForCondition } from "../support/world.ts";

it.concurrent("a namespaced Account at a private address is refused, and nothing is sent there", async () => {
  const world = await createWorld("private");
  await world.startOperator({ args: ["--allow-private-networks=false"] });
  const account = await waitForCondition(world, "Account", "default", "Reachable", "False");
  expect(condition(account, "Ready")).toMatchObject({ status: "False", reason: "AddressNotAllowed" });
  expect(condition(account, "Stalled")?.message).toContain("--allow-private-networks");
  expect(await world.audit()).toEqual([]);
});

it.concurrent("an Account reads the Secret of its own namespace only: one of that name elsewhere is not found", async () => {
  const other = await createWorld("keys");
  const world = await createWorld("nokey", { account: { apiKeySecretRef: { name: "elsewhere", key: "apiKey" } } });
  await other.apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "elsewhere" },
    stringData: { apiKey: API_KEY },
  });
  await world.startOperator();
  const account = await waitForCondition(world, "Account", "default", "Stalled");
  expect(condition(account, "Stalled")).toMatchObject({ reason: "SecretNotFound" });
  expect(condition(account, "Stalled")?.message).toContain(`${world.namespace}/elsewhere`);
  expect(await world.audit()).toEqual([]);
});
