import { manifest } from "../../support/manifests.ts";
import { type AnyObject, condition, eventually, type World, waitForCondition } from "../../support/world.ts";
import type { Scenario } from "../scenario.ts";

const NAME = "echo";
const syncs = { endpoints: { syncInterval: "1s" } };
const deleteOperation = { method: "DELETE", path: "/endpoints/{id}" } as const;

/** The endpoint serves its current spec. */
const served = (world: World): Promise<AnyObject> =>
  eventually("the endpoint serves its spec", async () => {
    const object = await world.get("GpuEndpoint", NAME);
    const { generation } = object.metadata;
    const [ready, synced] = [condition(object, "Ready"), condition(object, "Synced")];
    const current = ready?.status === "True" && synced?.status === "True" && synced.observedGeneration === generation;
    return current && object.status?.["appliedGeneration"] === generation && object;
  });
const create = async (world: World, change = {}): Promise<AnyObject> => {
  await world.apply(manifest("endpoint", change, NAME));
  return served(world);
};
const update = async (world: World, spec: object): Promise<AnyObject> => {
  await world.patch("GpuEndpoint", NAME, { spec });
  return served(world);
};
const remove = async (world: World): Promise<unknown> => {
  await world.remove("GpuEndpoint", NAME);
  return eventually("the endpoint is gone", async () => (await namesOf(world)).every((name) => name !== NAME));
};
const namesOf = async (world: World) => (await world.list("GpuEndpoint")).map(({ metadata }) => metadata.name);
const firstRemote = async (world: World): Promise<Record<string, unknown>> => {
  const [endpoint] = (await world.state()).endpoints;
  if (endpoint === undefined) throw new Error("there is no remote endpoint");
  return endpoint;
};

export const ENDPOINT_SCENARIOS: readonly Scenario[] = [
  {
    name: "endpoint: create with an export",
    account: syncs,
    act: (world) => create(world, { exportTo: { configMap: { name: "address" } } }),
  },
  {
    name: "endpoint: create with a chosen app name",
    account: syncs,
    act: (world) => create(world, { appName: "chosen" }),
  },
  {
    name: "endpoint: update",
    account: syncs,
    prepare: create,
    act: (world) => update(world, { image: "registry.example.com/models/echo:2.0", workers: { max: 3 } }),
  },
  {
    name: "endpoint: suspend and resume",
    account: syncs,
    prepare: create,
    act: async (world) => {
      await update(world, { suspend: true });
      await update(world, { suspend: false });
    },
  },
  {
    name: "endpoint: drift",
    account: syncs,
    prepare: create,
    act: async (world) => {
      const { id } = await firstRemote(world);
      await world.control("POST", `/__state/endpoints/${String(id)}`, { workerConfig: { maxNum: 9 } });
      await eventually("the drift is remediated", async () => {
        const { parameters } = await firstRemote(world);
        return (parameters as { workerConfig: { maxNum: number } }).workerConfig.maxNum === 2;
      });
      await served(world);
    },
  },
  ...(["ScaleToZero", "Retain", "Delete"] as const).map(
    (deletionPolicy): Scenario => ({
      name: `endpoint: delete with ${deletionPolicy}`,
      simulator: { deleteOperation },
      account: { endpoints: { ...syncs.endpoints, deleteOperation } },
      prepare: async (world) => {
        await world.apply(manifest("endpoint", {}, "neighbor"));
        await waitForCondition(world, "GpuEndpoint", "neighbor", "Ready");
        await create(world, { deletionPolicy });
      },
      act: remove,
    }),
  ),
  {
    name: "endpoint: delete the account's last endpoint",
    simulator: { deleteOperation },
    account: { endpoints: { ...syncs.endpoints, deleteOperation } },
    prepare: (world) => create(world, { deletionPolicy: "Delete" }),
    act: remove,
  },
];
