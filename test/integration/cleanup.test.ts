import { expect, inject, it } from "vitest";
import { findObject } from "../../src/kube/client.ts";
import { configMapResource, namespaceResource } from "../../src/kube/resource.ts";
import { leaseResource } from "../../src/runtime/lease.ts";
import { installationNamespace } from "../support/installation-namespace.ts";
import { manifest } from "../support/manifests.ts";
import { openRecordsOf } from "../support/open-records.ts";
import { type Ended, run } from "../support/run.ts";
import { leaseOf } from "../support/serving.ts";
import { BUNDLE, createWorld, eventually, type Operator, type World, waitForCondition } from "../support/world.ts";

/** Runs `mooring cleanup` for a world. Of a flag that is given twice, the last value counts. */
function cleanup({ namespace }: World, ...args: string[]): Promise<Ended> {
  const place = [`--operator-namespace=${namespace}`, `--watch-namespaces=${namespace}`];
  return run(process.execPath, [BUNDLE, "cleanup", `--kubeconfig=${inject("kubeconfig")}`, ...place, ...args]);
}

const finalizers = async (world: World, name: string) =>
  (await world.get("GpuEndpoint", name)).metadata.finalizers ?? [];

it.concurrent("an operator that is gone strands nothing: cleanup takes the finalizers off, and deletions go on", async () => {
  const world = await createWorld("cleanup");
  const operator = await world.startOperator();
  for (const name of ["kept", "going"]) await world.apply(manifest("endpoint", {}, name));
  for (const name of ["kept", "going"]) await waitForCondition(world, "GpuEndpoint", name, "Ready");
  await eventually(
    "the account in use is held",
    async () => (await world.get("Account", "default")).metadata.finalizers?.length === 1,
  );
  await world.patch("GpuEndpoint", "kept", {
    metadata: { finalizers: ["example.com/theirs", "mooring.dev/finalizer"] },
  });

  const refused = await cleanup(world, "--timeout=3s");
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toContain(
    `an operator still holds the lease ${world.namespace}/${leaseOf(operator)} after 3s: scale it to 0`,
  );
  expect(await finalizers(world, "going")).toEqual(["mooring.dev/finalizer"]);

  await operator.kill();
  await world.remove("GpuEndpoint", "going");
  await world.control("DELETE", "/__audit");
  const dry = await cleanup(world, "--dry-run");
  expect(dry.stdout).toContain(
    `GpuEndpoint ${world.namespace}/going: finalizer would be taken off, its deletion goes on\n`,
  );
  expect(await finalizers(world, "going")).toEqual(["mooring.dev/finalizer"]);

  const { code, stdout, stderr } = await cleanup(world, "--stop-deployment=not-there");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  // Files that run beside this one have ClusterAccounts, which no namespace holds.
  const ours = stdout.split("\n").filter((line) => !line.startsWith("ClusterAccount "));
  const released = stdout.split("\n").filter((line) => line.includes(": finalizer taken off")).length;
  expect(ours.sort()).toEqual(
    [
      `Deployment ${world.namespace}/not-there: not there`,
      `Account ${world.namespace}/default: finalizer taken off`,
      `GpuEndpoint ${world.namespace}/going: finalizer taken off, its deletion goes on`,
      `GpuEndpoint ${world.namespace}/kept: finalizer taken off`,
      `${released} objects released; what is at the service stays there as it is`,
      "",
    ].sort(),
  );
  await eventually("the deletion went on", async () => (await world.list("GpuEndpoint")).length === 1);
  expect(await finalizers(world, "kept")).toEqual(["example.com/theirs"]);
  expect((await world.audit()).filter(({ method }) => method !== "GET")).toEqual([]);
  expect((await world.kube.list(leaseResource, { namespace: world.namespace })).items).toEqual([]);

  // An operator that comes back takes the endpoint up again, with its finalizer and without a second create.
  await world.patch("GpuEndpoint", "kept", { metadata: { finalizers: [] } });
  await world.startOperator();
  await eventually("the finalizer is back", async () => (await finalizers(world, "kept")).length === 1);
  expect(await world.audit("createEndpoint")).toEqual([]);
});

it.concurrent("a create without an outcome stays recorded, and a later operator finds its endpoint", async () => {
  const world = await createWorld("cleanup");
  await world.control("POST", "/__faults", {
    kind: "latency",
    operation: "createEndpoint",
    latencyMs: 60_000,
    after: true,
  });
  const operator = await world.startOperator();
  await world.apply(manifest("endpoint", {}, "unknown"));
  await eventually("the create took effect", async () => (await world.state()).endpoints.length === 1);
  await operator.kill();
  expect((await cleanup(world)).code).toBe(0);
  expect(await finalizers(world, "unknown")).toEqual([]);
  expect((await openRecordsOf(world)).map(({ metadata }) => metadata.name)).toEqual(["unknown"]);

  await world.startOperator();
  await waitForCondition(world, "GpuEndpoint", "unknown", "Ready");
  expect(await world.audit("createEndpoint")).toHaveLength(1);
});

it.concurrent("endpoints are scaled to zero first on request, and a later operator leaves them suspended", async () => {
  const world = await createWorld("cleanup");
  const operator = await world.startOperator();
  await world.apply(manifest("endpoint", {}, "running"));
  const { status } = await waitForCondition(world, "GpuEndpoint", "running", "Ready");
  const observe = { managementPolicy: "Observe", adoption: { endpointID: status?.["endpointID"] } };
  await world.apply(manifest("endpoint", observe, "observed"));

  const dry = await cleanup(world, "--scale-endpoints-to-zero", "--dry-run");
  expect(dry.stdout).toContain(`GpuEndpoint ${world.namespace}/running: would be suspended\n`);
  expect((await world.get("GpuEndpoint", "running")).spec?.["suspend"]).toBe(false);

  // The lease is still held: endpoints are scaled, and then the command waits for the operator to stop.
  const refused = await cleanup(world, "--scale-endpoints-to-zero", "--timeout=20s");
  expect(refused.stdout).toBe(`GpuEndpoint ${world.namespace}/running: suspended\n`);
  expect(refused.stderr).toContain("an operator still holds the lease");
  const [remote] = (await world.state()).endpoints;
  expect(remote).toMatchObject({ parameters: { workerConfig: { minNum: 0, maxNum: 0 } } });
  expect((await world.get("GpuEndpoint", "observed")).spec?.["suspend"]).toBe(false);

  await operator.kill();
  expect(await cleanup(world, "--scale-endpoints-to-zero")).toMatchObject({ code: 0, stderr: "" });
});

it.concurrent("an endpoint that no operator scales is named, and its operator is not stopped", async () => {
  const world = await createWorld("cleanup");
  const operator = await world.startOperator();
  await world.apply(manifest("endpoint", {}, "paused"));
  await waitForCondition(world, "GpuEndpoint", "paused", "Ready");
  await operator.kill();
  const ended = await cleanup(world, "--scale-endpoints-to-zero", "--timeout=2s");
  expect(ended.code).toBe(1);
  expect(ended.stderr).toContain("1 endpoint is not scaled to zero");
  expect(ended.stderr).toContain(`GpuEndpoint ${world.namespace}/paused: `);
  expect(await finalizers(world, "paused")).toEqual(["mooring.dev/finalizer"]);
});

/** An operator with its lease in the namespace, and an endpoint that it has made. */
async function operatorWithEndpoint(world: World, namespace: string): Promise<Operator> {
  const operator = await world.startOperator({ args: [`--operator-namespace=${namespace}`] });
  await world.apply(manifest("endpoint", {}, "left"));
  await waitForCondition(world, "GpuEndpoint", "left", "Ready");
  return operator;
}

it.concurrent("the namespace of the operator is being deleted: cleanup goes on when the operator cannot work any more", async ({
  onTestFinished,
}) => {
  const world = await createWorld("cleanup");
  const name = await installationNamespace(world);
  const theirs = { namespace: name, name: "theirs" };
  const metadata = { name: theirs.name, finalizers: ["example.com/theirs"] };
  await world.kube.create(configMapResource, { namespace: name }, { metadata, spec: {} });
  onTestFinished(async () => {
    await world.kube.mergePatch(configMapResource, theirs, { metadata: { finalizers: [] } });
  });
  const operator = await operatorWithEndpoint(world, name);

  await world.kube.delete(namespaceResource, { name });
  const leases = async () => (await world.kube.list(leaseResource, { namespace: name })).items;
  await eventually("the lease is gone", async () => (await leases()).length === 0);
  const ended = cleanup(world, `--operator-namespace=${name}`);
  const order = [operator.exited.then(() => "operator"), ended.then(() => "cleanup")];
  expect(await Promise.race(order)).toBe("operator");
  const { code, stdout, stderr } = await ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toContain(
    `namespace ${name} is being deleted: waiting 15 s until no operator can have a lease in it\n`,
  );
  expect(stdout).toContain(`GpuEndpoint ${world.namespace}/left: finalizer taken off\n`);
  expect(await finalizers(world, "left")).toEqual([]);
});

it.concurrent("the namespace of the operator is not there: cleanup changes nothing, and works when it is there again", async ({
  onTestFinished,
}) => {
  const world = await createWorld("cleanup");
  const name = await installationNamespace(world);
  const operator = await operatorWithEndpoint(world, name);
  await operator.kill();
  await world.kube.delete(namespaceResource, { name });
  const find = () => findObject(world.kube, namespaceResource, { name });
  await eventually("the namespace is gone", async () => (await find()) === undefined);

  const refused = await cleanup(world, `--operator-namespace=${name}`);
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toContain(`namespace ${name} is not there: correct --operator-namespace`);
  expect(refused.stderr).toContain(`kubectl create namespace ${name}\n`);
  expect(await finalizers(world, "left")).toEqual(["mooring.dev/finalizer"]);

  await world.kube.create(namespaceResource, {}, { metadata: { name }, spec: {} });
  onTestFinished(() => world.kube.delete(namespaceResource, { name }));
  expect(await cleanup(world, `--operator-namespace=${name}`)).toMatchObject({ code: 0, stderr: "" });
  expect(await finalizers(world, "left")).toEqual([]);
});
