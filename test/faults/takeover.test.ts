import { expect, it } from "vitest";
import { accountKey } from "../../src/controllers/account/registry.ts";
import { isHeld, LEASE_MS, type Lease, leaseResource } from "../../src/runtime/lease.ts";
import { manifest } from "../support/manifests.ts";
import { senderOf } from "../support/open-records.ts";
import { leaseOf, servingOf, untilServing, untilStarted } from "../support/serving.ts";
import { condition, createWorld, eventually, type Operator, type World, waitForCondition } from "../support/world.ts";

const accountOf = ({ namespace }: World) => accountKey("Account", "default", namespace);

/** Two processes, the first of which serves the account. */
async function twoProcesses(prefix: string) {
  const world = await createWorld(prefix);
  const first = await world.startOperator();
  await untilServing(first, accountOf(world));
  const second = await world.startOperator();
  await untilStarted(second);
  return { world, first, second };
}

const leaseOfProcess = (world: World, operator: Operator) =>
  world.kube.get<Lease>(leaseResource, { namespace: world.namespace, name: leaseOf(operator) ?? "" });

/** The process of a sender, as the records of requests name it. */
const senderFrom = (world: World, operator: Operator) => `${world.namespace}/${leaseOf(operator)}`;

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

it.concurrent("a process that stops hands over: the other one need not wait until its lease ends", async () => {
  const { world, first, second } = await twoProcesses("handover");
  await world.apply(manifest("endpoint", {}, "first"));
  await waitForCondition(world, "GpuEndpoint", "first", "Ready");
  expect(servingOf(second, accountOf(world))).toBeUndefined();
  expect(await first.stop()).toBe(0);
  expect(isHeld(await leaseOfProcess(world, first))).toBe(false);
  expect(await untilServing(second, accountOf(world))).toMatchObject({ reason: "Released" });
  await world.apply(manifest("endpoint", {}, "second"));
  await expectOnce(world, ["first", "second"]);
  expect(await sendersOf(world, ["first"])).toEqual(new Set([senderFrom(world, first)]));
  expect(await sendersOf(world, ["second"])).toEqual(new Set([senderFrom(world, second)]));
});

it.concurrent("kill -9: the other process serves the account once the lease has ended, and not before", async () => {
  const { world, first, second } = await twoProcesses("killed");
  await first.kill();
  const { spec } = await leaseOfProcess(world, first);
  await world.apply(manifest("endpoint", {}, "orphan"));
  const serving = await untilServing(second, accountOf(world));
  expect(serving.reason).toBe("Ended");
  expect(serving.at - Date.parse(spec.renewTime ?? "")).toBeGreaterThanOrEqual(LEASE_MS);
  expect(isHeld(await leaseOfProcess(world, first))).toBe(false);
  await expectOnce(world, ["orphan"]);
  expect(await sendersOf(world, ["orphan"])).toEqual(new Set([senderFrom(world, second)]));
});

it.concurrent("a process that sleeps until another one serves its account sends and records nothing when it wakes", async () => {
  const { world, first, second } = await twoProcesses("asleep");
  await world.apply(manifest("endpoint", {}, "before"));
  await waitForCondition(world, "GpuEndpoint", "before", "Ready");
  // Work that the process would do the moment it wakes: it was told of it in its sleep.
  process.kill(first.pid, "SIGSTOP");
  const names = Array.from({ length: 20 }, (_, index) => `asleep-${index}`);
  await Promise.all(names.map((name) => world.apply(manifest("endpoint", {}, name))));
  await Promise.all(names.map((name) => world.apply(manifest("hd", {}, name))));
  await untilServing(second, accountOf(world));
  process.kill(first.pid, "SIGCONT");
  expect(await first.exited).toBe(1);
  expect(first.log()).toMatch(/lease .* was ended|serves Account.*, which this process served/);

  await expectOnce(world, ["before", ...names]);
  await eventually("every job is done", async () =>
    (await world.list("SpeechJob")).every((job) => condition(job, "Complete")?.status === "True"),
  );
  expect(await world.audit("submitSpeech")).toHaveLength(names.length);
  expect(await sendersOf(world, names)).toEqual(new Set([senderFrom(world, second)]));
});

it.concurrent("an accepted response that arrives after the lease has ended ends the halt, and no second attempt follows", async () => {
  const { world, first, second } = await twoProcesses("deposed");
  await waitForCondition(world, "Account", "default", "Ready");
  await world.control("POST", "/__faults", {
    operation: "submitSpeech",
    kind: "latency",
    latencyMs: 10_000,
    after: true,
  });
  await world.apply(manifest("hd", {}, "sent"));
  await eventually("the request took effect", async () => (await world.state()).tasks.length === 1);
  process.kill(first.pid, "SIGSTOP");
  await untilServing(second, accountOf(world));
  await eventually("the job is halted", async () => (await world.get("SpeechJob", "sent")).status?.phase === "Halted");

  // The response has arrived in the meantime. Its process finds it when it wakes.
  process.kill(first.pid, "SIGCONT");
  const done = await waitForCondition(world, "SpeechJob", "sent", "Complete");
  expect(done.status).toMatchObject({ attempts: 1, submission: { attempt: 1, state: "Accepted" } });
  expect(await world.audit("submitSpeech")).toHaveLength(1);
  expect(await first.exited).toBe(1);
});
