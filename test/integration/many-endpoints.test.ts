import { expect, inject, it } from "vitest";
import { startProxy } from "../../tools/chaos/proxy.ts";
import { targetOf } from "../../tools/cluster/credentials.ts";
import { manifest } from "../support/manifests.ts";
import { condition, createWorld, eventually, plainKubeconfig } from "../support/world.ts";

const COUNT = 500;

const policies = ["ScaleToZero", "Retain"];

it.each(policies)(
  `${COUNT} endpoints with %s at once: at most 1.1 writes of the record and 1.1 of the status each`,
  async (deletionPolicy) => {
    const world = await createWorld(`many-${deletionPolicy.toLowerCase()}`, { simulator: { bootDelayMs: 0 } });
    const counts = { status: 0, record: 0 };
    const proxy = await startProxy(
      await targetOf(inject("kubeconfig")),
      ({ method, path }) => {
        if (method === "PATCH" && /gpuendpoints\/.*\/status/.test(path)) counts.status++;
        if (method === "PATCH" && /gpuendpoints\/[^/]+$/.test(path)) counts.record++;
        return "pass";
      },
      () => undefined,
    );
    const names = Array.from({ length: COUNT }, (_, index) => `e-${index}`);
    for (let from = 0; from < COUNT; from += 50) {
      await Promise.all(
        names.slice(from, from + 50).map((name) => world.apply(manifest("endpoint", { deletionPolicy }, name))),
      );
    }
    await world.startOperator({ kubeconfig: await plainKubeconfig(proxy.url) });
    await eventually(
      "all endpoints serve",
      async () => (await world.list("GpuEndpoint")).every((object) => condition(object, "Ready")?.status === "True"),
      150_000,
    );
    const { endpoints } = await world.state();
    expect(endpoints).toHaveLength(COUNT);
    const bound = new Set((await world.list("GpuEndpoint")).map(({ status }) => status?.endpointID));
    expect(bound).toEqual(new Set(endpoints.map(({ id }) => id)));
    expect(counts.status).toBeLessThanOrEqual(COUNT * 1.1);
    expect(counts.record).toBeLessThanOrEqual(COUNT * 1.1);
    console.log(
      `${COUNT} endpoints with ${deletionPolicy}: ${counts.status} status writes, ${counts.record} writes of the record`,
    );
    await proxy.close();
  },
);
