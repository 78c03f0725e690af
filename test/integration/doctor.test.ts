import { expect, it } from "vitest";
import { accountResource } from "../../src/api/v1alpha1/kinds.ts";
import { tools } from "../support/command-line.ts";
import { manifest } from "../support/manifests.ts";
import { run } from "../support/run.ts";
import { BUNDLE, createWorld, eventually } from "../support/world.ts";

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

  const server = { namespace: "gone-system", since: "2026-01-01T00:00:00Z" };
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
  expect(held.stdout).toMatch(
    /^(bad {3}(no operator runs since \S+Z: |shard \d )|ok {4}an operator runs, in namespace |warn {2}no operator has been seen)/m,
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
  expect(bad.stdout).toMatch(/^bad {3}Account \S+\/keyless: Secret \S+\/no does not exist: create it$/m);
  expect(bad.stdout).toMatch(/^bad {3}Account \S+\/refused: the service refuses the key: /m);
  expect(bad.stdout).not.toContain("wrong-0123456789");

  const away = await run(process.execPath, [BUNDLE, "doctor", "--kubeconfig", "/nonexistent"]);
  expect(away).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringMatching(/^mooring: kubeconfig .*no such file\n$/),
  });
});

it("mooring doctor: names the shard that no process leads", async () => {
  const world = await createWorld("doctor-shards");
  const { namespace } = world;
  const operators = await Promise.all(
    [0, 2].map((index) => world.startOperator({ args: ["--leader-elect", `--shard=${index}/3`] })),
  );
  for (const operator of operators) {
    await eventually("the shard has a leader", async () => operator.log().includes('"msg":"leading"'));
  }
  const { code, stdout } = await tools(world).mooring("doctor");
  expect(code).toBe(1);
  expect(stdout.split("\n").filter((line) => line.includes(namespace) && / shards? /.test(line))).toEqual([
    `bad   shard 1 of 3 has no leader (its lease mooring-operator-shard-1 does not exist): objects of its accounts are not reconciled. Look at: kubectl get pods -n ${namespace} -l mooring.dev/shard=1`,
  ]);
});
