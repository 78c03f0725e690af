import { expect, inject, it } from "vitest";
import { gpuEndpointResource, speechJobResource } from "../../src/api/v1alpha1/kinds.ts";
import type { Resource } from "../../src/kube/resource.ts";
import { runProgram } from "../../tools/cluster/run-program.ts";
import { manifest } from "../support/manifests.ts";
import { type AnyObject, createWorld, eventually, type World, waitForCondition } from "../support/world.ts";

/** What a backup tool does that restores statuses, such as Velero: other objects, under the same names, with the former contents. */
async function restore(world: World, resource: Resource, saved: AnyObject): Promise<void> {
  const { name, annotations, finalizers } = saved.metadata;
  const place = { namespace: world.namespace, name };
  await world.kube.mergePatch(resource, place, { metadata: { finalizers: null } });
  await world.kube.delete(resource, place);
  const metadata = { name, ...(annotations && { annotations }), ...(finalizers && { finalizers }) };
  const made = await world.apply({ kind: resource.kind, metadata, spec: saved.spec });
  expect(made.metadata.uid).not.toBe(saved.metadata.uid);
  const patch = JSON.stringify({ status: saved.status });
  const where = ["--kubeconfig", inject("kubeconfig"), "--namespace", world.namespace];
  const write = ["patch", resource.plural, name, "--subresource=status", "--type=merge", "--patch", patch];
  await runProgram(inject("kubectl"), [...where, ...write]);
}

it("objects that are restored with their statuses while no operator runs are followed, and nothing is paid for again", async () => {
  const world = await createWorld("restored", { simulator: { timeScale: 1 } });
  const operator = await world.startOperator();
  await world.apply(manifest("endpoint", {}, "echo"));
  await world.apply(manifest("turbo", { text: "done" }, "done"));
  await world.apply(manifest("hd", { text: "under way" }, "running"));
  const echo = await waitForCondition(world, "GpuEndpoint", "echo", "Ready");
  const done = await waitForCondition(world, "SpeechJob", "done", "Complete");
  const running = await eventually("the service has a task", async () => {
    const job = await world.get("SpeechJob", "running");
    return job.status?.["taskID"] !== undefined && job;
  });
  await operator.stop();
  const paid = async () => (await world.audit()).filter(({ method }) => method === "POST").length;
  const before = await paid();

  await restore(world, gpuEndpointResource, echo);
  for (const job of [done, running]) await restore(world, speechJobResource, job);
  await world.startOperator();

  const completed = await waitForCondition(world, "SpeechJob", "running", "Complete");
  expect(completed.status?.["taskID"]).toBe(running.status?.["taskID"]);
  await world.patch("GpuEndpoint", "echo", { spec: { workers: { max: 5 } } });
  const updated = await eventually("the endpoint follows its spec", async () => {
    const endpoint = await world.get("GpuEndpoint", "echo");
    return endpoint.status?.["appliedGeneration"] === 2 && endpoint;
  });
  expect(updated.status?.["endpointID"]).toBe(echo.status?.["endpointID"]);
  expect((await world.get("SpeechJob", "done")).status?.["results"]).toEqual(done.status?.["results"]);
  expect(await paid()).toBe(before + 1); // the update
});
