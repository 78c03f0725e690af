import { expect, it } from "vitest";
import { accountResource } from "../../src/api/v1alpha1/kinds.ts";
import { accountKey } from "../../src/controllers/account/registry.ts";
import { tools } from "../support/command-line.ts";
import { manifest } from "../support/manifests.ts";
import { run } from "../support/run.ts";
import { leaseOf, untilServing, untilStarted } from "../support/serving.ts";
import { BUNDLE, createWorld } from "../support/world.ts";

it("mooring doctor: a line a check, and what is wrong with which account", async () => {
  const world = await createWorld("doctor");
  const { mooring } = tools(world);
  const good = await mooring("doctor");
  const lines = good.stdout.trim().split("\n");
  expect(lines[0]).toMatch(/^ok {4}API server https:\S+ answers; we are \S+$/);
  for (const plural of ["gpuendpoints", "accounts", "clusteraccounts", "speechjobs", "videojobs"]) {
    expect(good.stdout).toContain(`ok    ${plural}.mooring.dev is installed as this version of Mooring has it\n`);
  }
  expect(good.stdout).toContain(`ok    Account ${world.namespace}/default: ${world.simulator.url} takes the key\n`);
  expect(lines.at(-1)).toMatch(/^ok {4}we have all \d+ rights of the operator$/);

  const server = { namespace: "gone-system", lease: "gone-0", since: "2026-01-01T00:00:00Z" };
  const message = "127.0.0.1 is a private address";
  const refusal = {
    type: "Ready",
    status: "False",
    reason: "AddressNotAllowed",
    message,
    lastTransitionTime: server.since,
  };
  await world.kube.mergePatch(
    accountResource,
    { namespace: world.namespace, name: "default", subresource: "status" },
    { status: { server, conditions: [refusal] } },
  );
  const held = await mooring("doctor");
  expect(held.code).toBe(1);
  expect(held.stdout).toContain(
    `bad   Account ${world.namespace}/default: ${world.simulator.url} takes the key, but the operator reports AddressNotAllowed: ${message}\n`,
  );
  // Other tests run operators in the same cluster.
  expect(held.stdout).toMatch(
    /^(bad {3}no operator runs since \S+Z: |ok {4}operator process \S+ in namespace |warn {2}(no operator has been seen|mooring cleanup runs))/m,
  );

  await world.apply({
    ...manifest("account", { baseURL: world.simulator.url, apiKeySecretRef: { name: "no", key: "k" } }, "keyless"),
  });
  await world.apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "wrong" },
    stringData: { apiKey: "wrong-0123456789" },
  });
  await world.apply({
    ...manifest(
      "account",
      { baseURL: world.simulator.url, apiKeySecretRef: { name: "wrong", key: "apiKey" } },
      "refused",
    ),
  });
  const bad = await mooring("doctor");
  expect(bad.code).toBe(1);
  expect(bad.stdout).toMatch(
    /^bad {3}Account \S+\/keyless: Secret \S+\/no does not exist: create it: kubectl create secret generic no -n \S+ --from-literal=k=VALUE$/m,
  );
  expect(bad.stdout).toMatch(/^bad {3}Account \S+\/refused: the service refuses the key: /m);
  expect(bad.stdout).not.toContain("wrong-0123456789");

  const away = await run(process.execPath, [BUNDLE, "doctor", "--kubeconfig", "/nonexistent"]);
  expect(away).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringMatching(/^mooring: kubeconfig .*no such file\n$/),
  });
});

it("mooring doctor: says what each process serves, and which account has no process", async () => {
  const world = await createWorld("doctor-processes");
  const { namespace } = world;
  const account = accountKey("Account", "default", namespace);
  const serving = await world.startOperator();
  await untilServing(serving, account);
  const other = await world.startOperator();
  await untilStarted(other);
  const findings = async () => {
    const { stdout } = await tools(world).mooring("doctor");
    return stdout.split("\n").filter((line) => line.includes(`namespace ${namespace}`));
  };
  expect((await findings()).sort()).toEqual(
    [
      `ok    operator process ${leaseOf(serving)} in namespace ${namespace} serves 1 account`,
      `ok    operator process ${leaseOf(other)} in namespace ${namespace} serves 0 accounts`,
    ].sort(),
  );
  // First the one that would take the account.
  await other.stop();
  await serving.stop();
  // Another installation runs.
  await untilStarted(await (await createWorld("doctor-elsewhere")).startOperator());
  expect(await findings()).toEqual([
    expect.stringMatching(
      `^bad   Account ${namespace}/default is not served: process ${leaseOf(serving)} in namespace ${namespace} released it at `,
    ),
  ]);
});
