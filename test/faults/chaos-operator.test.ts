import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { gpuEndpointResource } from "../../src/api/v1alpha1/kinds.ts";
import type { KubeObject } from "../../src/kube/types.ts";
import { createWriter, planOperations, runOperations } from "../../tools/chaos/chaos-scenario.ts";
import { manifest } from "../support/manifests.ts";
import { type AnyObject, condition, createWorld, eventually, plainKubeconfig, type World } from "../support/world.ts";
import { chaosProxy, OBJECTS, SECONDS, SEED } from "./chaos-world.ts";

type Remote = { id: string; parameters: { appName: string; workerConfig: { maxNum: number } } };

const maxOf = (object: AnyObject) => (object.spec.workers as { max: number }).max;

/** What is not as it should be, in words; empty at the end. */
async function wrongs(world: World, alive: ReadonlySet<string>): Promise<string[]> {
  const objects = await world.list("GpuEndpoint");
  const remotes = new Map(((await world.state()).endpoints as Remote[]).map((remote) => [remote.id, remote]));
  const found: string[] = [];
  for (const object of objects) {
    const { name, generation } = object.metadata;
    const ready = condition(object, "Ready");
    const remote = remotes.get(String(object.status?.endpointID));
    remotes.delete(remote?.id ?? "");
    if (!alive.has(name)) found.push(`${name} is deleted and still there`);
    else if (ready?.status !== "True") found.push(`${name} is not Ready: ${ready?.reason} ${ready?.message}`);
    else if (object.status?.observedGeneration !== generation) found.push(`${name}'s status is of an earlier spec`);
    else if (remote === undefined) found.push(`${name} has no endpoint`);
    else if (remote.parameters.workerConfig.maxNum !== maxOf(object)) found.push(`${name}'s endpoint differs`);
  }
  if (objects.length < alive.size) found.push(`${alive.size - objects.length} objects are not there`);
  for (const { id, parameters } of remotes.values()) {
    if (parameters.workerConfig.maxNum !== 0) found.push(`endpoint ${id} (${parameters.appName}) serves for nobody`);
  }
  return found;
}

it(`${OBJECTS} endpoints through chaos: each ends as its spec says, and none is made twice`, {
  timeout: SECONDS * 1_000 + 420_000,
}, async (test) => {
  const world = await createWorld("chaos");
  const proxy = await chaosProxy(test);
  const operator = await world.startOperator({ kubeconfig: await plainKubeconfig(proxy.url) });
  let running = true;
  void operator.exited.then(() => {
    running = false;
  });
  await eventually("the operator works", async () => operator.log().includes("controllers started"));
  const { write, truth } = createWriter({
    client: world.kube,
    resource: gpuEndpointResource,
    namespace: world.namespace,
    build: (name, round): KubeObject => manifest("endpoint", { workers: { max: 1 + (round % 10) } }, name),
  });
  proxy.rage(true);
  const memory: number[] = [];
  const sampling = setInterval(() => void residentMiB(operator.pid).then((mib) => memory.push(mib)), SECONDS * 100);
  await runOperations(planOperations({ objects: OBJECTS, durationMs: SECONDS * 1_000, seed: SEED }), write);
  proxy.rage(false);
  clearInterval(sampling);

  const calmAt = performance.now();
  let last: string[] = [];
  await eventually(
    "every endpoint is as its spec says",
    async () => {
      last = await wrongs(world, new Set(truth.alive.keys()));
      return last.length === 0;
    },
    300_000,
  ).catch(async () => {
    const traces = await Promise.all(last.map((wrong) => traceOf(world, operator.log(), wrong)));
    expect(last, `${traces.join("\n")}\noperator running: ${running}`).toEqual([]);
  });
  expect(running).toBe(true);
  const created = (await world.audit("createEndpoint")).filter(({ effect }) => effect === "EndpointCreated");
  const names = created.map(({ body }) => String((body?.endpoint as { appName?: string })?.appName ?? body?.appName));
  expect(new Set(names).size).toBe(created.length);
  const { requests, faults } = proxy.counts();
  expect(Object.keys(faults)).toEqual(expect.arrayContaining(["error500", "throttled429", "lostAnswer", "cutMidLine"]));
  console.log(
    `${created.length} creates for ${truth.alive.size + truth.deleted.size} objects; right ${Math.round((performance.now() - calmAt) / 1_000)} s after the chaos; ` +
      `${requests} requests, faults ${JSON.stringify(faults)}; MiB ${memory.map(Math.round).join(" ")}`,
  );
});

/** What the operator logged and sent of the first object or endpoint that a finding names. */
async function traceOf(world: World, log: string, wrong: string): Promise<string> {
  const name = /chaos-\d+/.exec(wrong)?.[0] ?? wrong;
  const concerns = (line: string) => new RegExp(`${name}\\b`).test(line);
  const calls = (await world.audit()).map((entry) => JSON.stringify(entry));
  const id = /^endpoint (\S+)/.exec(wrong)?.[1];
  const sent = calls.filter((line) => concerns(line) || (id !== undefined && line.includes(id)));
  return [wrong, ...log.split("\n").filter(concerns), ...sent.filter((line) => !line.includes('"listEndpoints"'))].join(
    "\n",
  );
}

async function residentMiB(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
}
