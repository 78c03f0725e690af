import { expect, it } from "vitest";
import type { KubeObject } from "../../src/kube/types.ts";
import { leaseResource } from "../../src/runtime/lease.ts";
import { manifest } from "../support/manifests.ts";
import { senderOf } from "../support/open-records.ts";
import { condition, createWorld, eventually, type Operator, type World, waitForCondition } from "../support/world.ts";

const LEASE_MS = 15_000;
const ELECT = { args: ["--leader-elect"] };
const leads = (operator: Operator) => operator.log().includes('"msg":"controllers started"');

/** Two replicas, the first of which leads. */
async function twoReplicas(prefix: string) {
  const world = await createWorld(prefix);
  const leader = await world.startOperator(ELECT);
  await eventually("the first leads", async () => leads(leader));
  const standby = await world.startOperator(ELECT);
  await eventually("the second stands by", async () => standby.log().includes("waiting for the lease"));
  return { world, leader, standby };
}

type LeaseSpec = { holderIdentity: string; acquireTime: string; renewTime: string };

async function leaseOf(world: World): Promise<LeaseSpec> {
  const place = { namespace: world.namespace, name: "mooring-operator" };
  return (await world.kube.get<KubeObject<LeaseSpec>>(leaseResource, place)).spec;
}

/** The processes that sent the creates of these endpoints. */
async function sendersOf(world: World, names: readonly string[]): Promise<Set<string | undefined>> {
  const endpoints = (await world.list("GpuEndpoint")).filter(({ metadata }) => names.includes(metadata.name));
  return new Set(endpoints.map(senderOf));
}

async function expectOnce(world: World, names: readonly string[]): Promise<void> {
  for (const name of names) await waitForCondition(world, "GpuEndpoint", name, "Ready");
  const { endpoints } = await world.state();
  expect(endpoints).toHaveLength(names.length);
  expect((await world.audit("createEndpoint")).filter(({ id }) => id !== undefined)).toHaveLength(names.length);
}

it.concurrent("a clean stop hands over: the standby need not wait for the lease to expire", async () => {
  const { world, leader, standby } = await twoReplicas("handover");
  await world.apply(manifest("endpoint", {}, "first"));
  await waitForCondition(world, "GpuEndpoint", "first", "Ready");
  const { holderIdentity } = await leaseOf(world);
  expect(await leader.stop()).toBe(0);
  expect((await leaseOf(world)).holderIdentity).not.toBe(holderIdentity);
  await eventually("the standby leads", async () => leads(standby));
  await world.apply(manifest("endpoint", {}, "second"));
  await expectOnce(world, ["first", "second"]);
  expect(await sendersOf(world, ["first"])).toEqual(new Set([holderIdentity]));
  expect(await sendersOf(world, ["second"])).toEqual(new Set([(await leaseOf(world)).holderIdentity]));
});

it.concurrent("kill -9 of the leader: the standby leads once the lease has expired, and not before", async () => {
  const { world, leader, standby } = await twoReplicas("killed");
  await leader.kill();
  const { renewTime } = await leaseOf(world);
  await world.apply(manifest("endpoint", {}, "orphan"));
  await eventually("the standby leads", async () => leads(standby));
  const { acquireTime, holderIdentity } = await leaseOf(world);
  expect(Date.parse(acquireTime) - Date.parse(renewTime)).toBeGreaterThanOrEqual(LEASE_MS);
  await expectOnce(world, ["orphan"]);
  expect(await sendersOf(world, ["orphan"])).toEqual(new Set([holderIdentity]));
});

it.concurrent("a leader that sleeps until another leads sends nothing and records nothing when it wakes", async () => {
  const { world, leader, standby } = await twoReplicas("asleep");
  await world.apply(manifest("endpoint", {}, "before"));
  await waitForCondition(world, "GpuEndpoint", "before", "Ready");
  // Work that the leader would do the moment it wakes: it was told of it in its sleep.
  process.kill(leader.pid, "SIGSTOP");
  const names = Array.from({ length: 20 }, (_, index) => `asleep-${index}`);
  await Promise.all(names.map((name) => world.apply(manifest("endpoint", {}, name))));
  await Promise.all(names.map((name) => world.apply(manifest("hd", {}, name))));
  await eventually("the standby leads", async () => leads(standby));
  process.kill(leader.pid, "SIGCONT");
  expect(await leader.exited).toBe(1);
  expect(leader.log()).toMatch(/lease .* lost/);

  await expectOnce(world, ["before", ...names]);
  await eventually("every job is done", async () =>
    (await world.list("SpeechJob")).every((job) => condition(job, "Complete")?.status === "True"),
  );
  expect(await world.audit("submitSpeech")).toHaveLength(names.length);
  expect(await sendersOf(world, names)).toEqual(new Set([(await leaseOf(world)).holderIdentity]));
});

it.concurrent("an accepted response that arrives at a deposed leader ends the halt, and no second attempt follows", async () => {
  const { world, leader, standby } = await twoReplicas("deposed");
  await waitForCondition(world, "Account", "default", "Ready");
  await world.control("POST", "/__faults", {
    operation: "submitSpeech",
    kind: "latency",
    latencyMs: 10_000,
    after: true,
  });
  await world.apply(manifest("hd", {}, "sent"));
  await eventually("the request took effect", async () => (await world.state()).tasks.length === 1);
  process.kill(leader.pid, "SIGSTOP");
  await eventually("the standby leads", async () => leads(standby));
  await eventually("the job is halted", async () => (await world.get("SpeechJob", "sent")).status?.phase === "Halted");

  // The response has arrived in the meantime. The deposed leader finds it when it wakes.
  process.kill(leader.pid, "SIGCONT");
  const done = await waitForCondition(world, "SpeechJob", "sent", "Complete");
  expect(done.status).toMatchObject({ attempts: 1, submission: { attempt: 1, state: "Accepted" } });
  expect(await world.audit("submitSpeech")).toHaveLength(1);
  expect(await leader.exited).toBe(1);
});
